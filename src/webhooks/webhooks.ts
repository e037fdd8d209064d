/** The webhooks of an application. What sends them is loaded when one is needed. */
import { load } from "../base/async_context.ts";
import { RouteError } from "../base/errors.ts";
import { checkOptions, nearest, type OptionNames, quote } from "../base/options.ts";
import type { DocumentedWebhook } from "../http/documented.ts";
import { toValidator } from "../schema/check.ts";
import { isSchema, nodeOf, schemaFault } from "../schema/schema.ts";
import { runsInCall } from "../store/topic_store.ts";
import { DeclaredTopic } from "../topics/declared_topic.ts";
import { checkKept } from "../topics/topic_options.ts";
import type { Topics } from "../topics/topics.ts";
import type { SendWebhookOptions, Webhook, WebhookDelivery, WebhookOptions } from "../topics/webhook.ts";
import type { DeclaredWebhook, Outbox, StoredWebhook, WebhookReceiver } from "./outbox.ts";

/** @ignore The option `webhooks` of an application. */
export interface WebhooksOptions {
  /**
   * Whether webhooks may be sent to addresses that are not public: of this machine, of private
   * networks, or of the services of a cloud. If partners choose URLs, they could reach those by it.
   *
   * @default {false}
   */
  allowPrivate?: boolean;
}

const WEBHOOKS_OPTIONS: OptionNames<WebhooksOptions> = { allowPrivate: true };
const OPTIONS: OptionNames<WebhookOptions> = { body: true, summary: true, description: true, tags: true };

/** No topic of a program has this name by accident. */
const TOPIC = "webfw.webhooks";
const CONSUMER = "send";
/** After each failed try: 21 hours in all, and up to a quarter more at random. */
const PAUSES = ["1m", "15m", "3h", "18h"] as const;
/**
 * Each waits 10 seconds for its answer at most, so that slow receivers do not hold up others soon.
 */
const CONCURRENCY = 64;

export function readWebhooksOptions(options: WebhooksOptions): Required<WebhooksOptions> {
  checkOptions(options, WEBHOOKS_OPTIONS, "make the App", "webhooks.");
  const { allowPrivate = false } = options;
  if (typeof allowPrivate === "boolean") return { allowPrivate };
  throw new TypeError(`Cannot make the App: "webhooks.allowPrivate" must be true or false, got ${quote(allowPrivate)}`);
}

export class Webhooks {
  readonly #topics: Topics;
  readonly #allowPrivate: boolean;
  readonly #declared = new Map<string, AppWebhook>();
  readonly #documented: DocumentedWebhook[] = [];
  #opening: Promise<Outbox> | undefined;
  #outbox: Outbox | undefined;
  /** Answers in place of the network, for tests. */
  receiver: WebhookReceiver | undefined;

  constructor(topics: Topics, { allowPrivate }: Required<WebhooksOptions>) {
    this.#topics = topics;
    this.#allowPrivate = allowPrivate;
  }

  get documented(): readonly DocumentedWebhook[] {
    return this.#documented;
  }

  /**
   * Declares a webhook, or returns the declared one.
   *
   * @throws {TypeError} If the name or an option is wrong, or there is none of this name.
   * @throws {RouteError} `conflict`: there is one of this name. `frozen`: the application serves.
   */
  webhook(name: string, options?: WebhookOptions): Webhook {
    const action = `declare the webhook ${quote(name)}`;
    if (typeof name !== "string" || !/^[\w.:/-]{1,128}$/.test(name)) {
      throw new TypeError(
        `Cannot ${action}: its name must be 1 to 128 letters, digits, ".", "_", "-", ":" or "/", such as "order.paid"`,
      );
    }
    const known = this.#declared.get(name);
    if (options === undefined) return known ?? this.#refuseUnknown(name);
    checkOptions(options, OPTIONS, action);
    if (this.#topics.isFrozen) {
      throw new RouteError("frozen", `Cannot ${action}: the application serves already, declare it before`);
    }
    if (known) {
      throw new RouteError(
        "conflict",
        `Cannot ${action}: there is one of this name, get it by webhook(${quote(name)})`,
      );
    }
    const documented = readDocumented(name, options, action);
    if (this.#declared.size === 0) this.#consume();
    const webhook = new AppWebhook({ name, validator: toValidator(documented.body) }, {
      outbox: () => this.#outbox,
      open: () => this.#open(),
    });
    this.#declared.set(name, webhook);
    this.#documented.push(documented);
    return webhook;
  }

  /** Before the lifespans and the consumers, which may send. */
  async start(): Promise<void> {
    if (this.#declared.size > 0) await this.#open();
  }

  /** The next start may have another store. */
  close(): void {
    this.#outbox = this.#opening = undefined;
  }

  async #open(): Promise<Outbox> {
    const opening = this.#opening ??= this.#load();
    try {
      const outbox = await opening;
      if (this.#opening === opening) this.#outbox = outbox;
      return outbox;
    } catch (error) {
      if (this.#opening === opening) this.#opening = undefined;
      throw error;
    }
  }

  async #load(): Promise<Outbox> {
    const { Outbox } = await load(() => import("./outbox.ts"));
    return await Outbox.open({
      topic: this.#topics.topic<StoredWebhook>(TOPIC),
      records: this.#topics.records,
      attempts: PAUSES.length + 1,
      allowPrivate: this.#allowPrivate,
      isDeclared: (name) => this.#declared.has(name),
      receiver: () => this.receiver,
    });
  }

  #consume(): void {
    // A webhook that waits for its next try must not be removed, whatever else is sent.
    const retention = { age: "7d", bytes: Infinity } as const;
    const declared = new DeclaredTopic<StoredWebhook>(TOPIC, { durable: true, retention, dedupe: "1d" });
    const topic = this.#topics.topic(declared);
    const options = { concurrency: CONCURRENCY, retry: { backoff: PAUSES }, timeout: "1m", from: "earliest" } as const;
    topic.consume(CONSUMER, options, async ({ data }, { attempt, signal }) => {
      await (await this.#open()).deliver(data, { attempt, signal });
    });
  }

  #refuseUnknown(name: string): never {
    const names = [...this.#declared.keys()];
    const cure = names.length === 0 ? "there are none" : `the nearest is ${quote(nearest(name, names))}`;
    throw new TypeError(
      `Cannot find the webhook ${quote(name)}: the application has not declared it by webhook(name, { body }), ${cure}`,
    );
  }
}

interface Sending {
  /** Undefined before the start, unless one was sent. */
  readonly outbox: () => Outbox | undefined;
  readonly open: () => Promise<Outbox>;
}

class AppWebhook implements Webhook {
  readonly name: string;
  readonly #declared: DeclaredWebhook;
  readonly #sending: Sending;

  constructor(declared: DeclaredWebhook, sending: Sending) {
    this.name = declared.name;
    this.#declared = declared;
    this.#sending = sending;
  }

  send(url: string | URL, data: unknown, options: SendWebhookOptions): Promise<{ readonly id: string }> {
    const outbox = this.#sending.outbox();
    const send = (outbox: Outbox) => outbox.send(this.#declared, url, data, options);
    const isInCall = runsInCall(options?.transaction);
    if (!isInCall) return outbox ? Promise.try(send, outbox) : this.#sending.open().then(send);
    // A synchronous function would commit its rows despite a promise that rejects.
    if (outbox) return send(outbox);
    throw new Error(
      `Cannot send the webhook "${this.name}" in a transaction of a DatabaseSync: the application has not started, call app.start() before`,
    );
  }

  async *deliveries(
    filter: { readonly id?: string; readonly url?: string | URL } = {},
  ): AsyncGenerator<WebhookDelivery, void, void> {
    yield* (await this.#sending.open()).deliveries(this.#declared, filter);
  }
}

function readDocumented(name: string, options: WebhookOptions, action: string): DocumentedWebhook {
  const { body, summary, description, tags = [] } = options;
  if (!isSchema(body)) throw new TypeError(`Cannot ${action}: body ${schemaFault(body)}`);
  checkKept(nodeOf(body), action);
  for (const [option, text] of Object.entries({ summary, description })) {
    if (text === undefined || typeof text === "string") continue;
    throw new TypeError(`Cannot ${action}: "${option}" must be a string, got ${quote(text)}`);
  }
  if (!Array.isArray(tags) || tags.some((tag) => typeof tag !== "string" || tag === "")) {
    throw new TypeError(`Cannot ${action}: "tags" must be an array of strings`);
  }
  return { name, body, summary, description, tags: [...tags] };
}
