/** Topics as values that modules share, apart from an application. */
import { quote } from "../base/options.ts";
import { SCHEDULED_LOG } from "./schedule/scheduled_log.ts";
import {
  checkSameOptions,
  type ResolvedTopicOptions,
  resolveTopicOptions,
  type TopicOptions,
} from "./topic_options.ts";

/** In UTF-16 units. The name is part of a key, and stores limit keys. */
const MAX_NAME_LENGTH = 256;

/**
 * The declaration of a topic, made by `topic()`. `Data` is the data of messages, `Input` the input
 * of the topic's schema.
 *
 * @category Topics
 */
export class DeclaredTopic<Data = unknown, Input = Data> {
  /** The name of the topic. */
  readonly name: string;
  /** @ignore */
  readonly options: ResolvedTopicOptions<Data, Input>;

  /**
   * Use `topic()`.
   *
   * @ignore
   */
  constructor(name: string, options: TopicOptions<Data, Input>) {
    checkName(name);
    this.name = name;
    this.options = resolveTopicOptions(options, name);
    Object.freeze(this);
  }
}

/**
 * Declares a topic as a value, which modules share: its messages have their types everywhere, and
 * its name is written once.
 *
 * An application gets it by `app.topic(Orders)`, or by `router.topic(Orders)` of a router that it
 * includes. Handlers use `request.app.topic(Orders)`. A topic that is first used while the
 * application serves, without such a declaration, is an error.
 *
 * @param name The name, 1 to 256 characters.
 * @param options The schema of messages, and how long they are kept.
 * @throws {TypeError} If the name or an option is wrong.
 * @throws {RangeError} If a limit is out of range.
 *
 * @example A topic in a module of its own
 * ```ts
 * import { App, topic } from "@webfw/core";
 * import { assertEquals } from "@std/assert";
 * import * as v from "valibot";
 *
 * const Order = v.object({ id: v.number(), total: v.number() });
 * const Orders = topic("orders", { schema: Order });
 *
 * const app = new App();
 * app.topic(Orders);
 * app.post("/orders", { body: Order }, async (request, { body }) => {
 *   await request.app.topic(Orders).publish(body);
 * });
 *
 * await using subscription = app.topic(Orders).subscribe();
 * const body = JSON.stringify({ id: 1, total: 3 });
 * const headers = { "content-type": "application/json" };
 * await app.fetch(new Request("http://localhost/orders", { method: "POST", body, headers }));
 * const { value } = await subscription.next();
 * assertEquals(value && "data" in value && value.data.total, 3);
 * ```
 *
 * @category Topics
 */
export function topic<Data = unknown, Input = Data>(
  name: string,
  options: TopicOptions<Data, Input> = {},
): DeclaredTopic<Data, Input> {
  return new DeclaredTopic(name, options);
}

/** Where topics are declared: an application or a router. */
export interface TopicDeclarations {
  readonly declared: readonly DeclaredTopic[];
  /** @throws {TypeError} If it has a topic of this name with other options. */
  check(topic: DeclaredTopic): void;
  declare(topic: DeclaredTopic): void;
}

/** The topics of a router, by name. */
export class RouterTopics implements TopicDeclarations {
  readonly #topics = new Map<string, DeclaredTopic>();

  get declared(): readonly DeclaredTopic[] {
    return [...this.#topics.values()];
  }

  check({ name, options }: DeclaredTopic): void {
    const existing = this.#topics.get(name);
    if (existing) checkSameOptions(existing.options, options, name);
  }

  declare(topic: DeclaredTopic): void {
    this.check(topic);
    this.#topics.set(topic.name, topic);
  }
}

function checkName(name: string): void {
  const isText = typeof name === "string" && name.isWellFormed();
  if (name === SCHEDULED_LOG.name) {
    throw new TypeError(`Cannot make a topic: the name ${quote(name)} is the framework's, use another one`);
  }
  if (isText && name.length > 0 && name.length <= MAX_NAME_LENGTH) return;
  throw new TypeError(`Cannot make a topic: its name must be a string of 1 to ${MAX_NAME_LENGTH} characters`);
}
