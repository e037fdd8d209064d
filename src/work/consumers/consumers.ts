/** All consumers of an application, from its start to its stop. */
import { loggerOf, makeLog } from "../../log/log.ts";
import { nearest, quote } from "../../base/options.ts";
import { SpanKind, tracing } from "../../log/telemetry.ts";
import type { ConsumerContext, ConsumerTry, DeclaredConsumer } from "../../topics/consume_options.ts";
import type { TopicMessage } from "../../topics/message.ts";
import { messagingAttributes } from "../../topics/topic_log.ts";
import type { Topics } from "../../topics/topics.ts";
import { SYSTEM_CLOCK } from "./clock.ts";
import { Consumer } from "./consumer.ts";
import type { DeadLetterTopic } from "./failures.ts";

/** How long a start waits for a store that is away, in milliseconds. */
const START_TIMEOUT = 3_000;

/** What handlers get of their application. */
interface Owner {
  readonly app: object;
  readonly state: unknown;
}

/** The consumers that work. */
export class Consumers {
  readonly #consumers: readonly Consumer[];

  private constructor(consumers: readonly Consumer[]) {
    this.#consumers = consumers;
  }

  /**
   * Starts all consumers that were declared.
   *
   * @param topics The topics that they were declared on.
   * @param owner What handlers get of their application.
   * @throws {TypeError} If the topic of dead letters is not declared or is less durable, or the
   * store has no records.
   */
  static async start(topics: Topics, owner: Owner): Promise<Consumers> {
    const started = await Promise.all(topics.consumers.map((declared) => openConsumer(declared, topics, owner)));
    const consumers = new Consumers(started);
    const all = consumers.#begin();
    // A store that is away must not keep an application from its start.
    const { promise: late, resolve } = Promise.withResolvers<void>();
    const cancel = SYSTEM_CLOCK.after(START_TIMEOUT, resolve);
    try {
      await Promise.race([all, late]);
    } catch (error) {
      consumers.abort();
      await consumers.stop();
      throw error;
    } finally {
      cancel();
    }
    return consumers;
  }

  /** Takes no new messages. */
  drain(): void {
    for (const consumer of this.#consumers) consumer.drain();
  }

  /** Aborts the signals of handlers. */
  abort(): void {
    for (const consumer of this.#consumers) consumer.abort();
  }

  /** Waits until all handlers have ended. After {@linkcode abort} that is about a second. */
  async stop(): Promise<void> {
    await Promise.all(this.#consumers.map((consumer) => consumer.stop()));
  }

  async #begin(): Promise<void> {
    await Promise.all(this.#consumers.map((consumer) => consumer.start()));
  }
}

async function openConsumer(declared: DeclaredConsumer, topics: Topics, owner: Owner): Promise<Consumer> {
  const { name, log, isDurable, options } = declared;
  const store = topics.storeOf(isDurable);
  if (!store.openRecords) {
    throw new TypeError(
      `Cannot start the consumer "${name}" of the topic "${log.name}": the store of topics that the App was given has no records, give it openRecords()`,
    );
  }
  return new Consumer({
    name,
    log,
    store,
    records: await store.openRecords(),
    options,
    check: declared.check,
    handle: (message, context, trace) => handle(declared, message, contextOf(declared, message, owner, context), trace),
    deadLetter: options.deadLetter === undefined ? undefined : openDeadLetter(declared, options.deadLetter, topics),
    clock: SYSTEM_CLOCK,
  });
}

/** What a handler gets besides the message. */
function contextOf(
  { name, log }: DeclaredConsumer,
  { id }: TopicMessage,
  owner: Owner,
  { attempt, signal }: ConsumerTry,
): ConsumerContext & Owner {
  return {
    ...owner,
    attempt,
    signal,
    get log() {
      const fields = { topic: log.name, consumer: name, message_id: id, attempt };
      return makeLog(loggerOf(owner.app, fields));
    },
  };
}

/** Calls the handler: in a trace of its own, with a link to that of the publisher. */
async function handle(
  { name, log, handler }: DeclaredConsumer,
  message: TopicMessage,
  context: ConsumerContext,
  trace: string | undefined,
): Promise<void> {
  const run = async () => {
    const returned = await handler(message, context);
    // Whoever writes `return` for `throw` loses no message.
    if (returned instanceof Error) throw returned;
  };
  if (!tracing) return await run();
  const options = {
    kind: SpanKind.CONSUMER,
    attributes: {
      ...messagingAttributes(log.name, "process"),
      ...namesOf(name, message.id),
      "webfw.consumer.attempt": context.attempt,
    },
    links: [trace],
    isRoot: true,
    // The application stops, or another process may have the message: it will be handled again.
    isExpected: () => context.signal.aborted && context.signal.reason.name === "AbortError",
  };
  await tracing.run(`process ${log.name}`, options, run);
}

function namesOf(consumer: string, id: string): Record<string, string> {
  return { "messaging.consumer.group.name": consumer, "messaging.message.id": id };
}

/** @throws {TypeError} If there is no such topic, or it is less durable. */
function openDeadLetter({ name, log, isDurable }: DeclaredConsumer, target: string, topics: Topics): DeadLetterTopic {
  const found = topics.declared.find((topic) => topic.name === target);
  const action = `Cannot start the consumer "${name}" of the topic "${log.name}": its deadLetter ${quote(target)}`;
  if (found === undefined) {
    const names = topics.declared.map(({ name }) => name).filter((name) => name !== log.name);
    const other = names.length === 0 ? "" : `, the nearest is ${quote(nearest(target, names))}`;
    throw new TypeError(
      `${action} is no topic of the application, declare it by app.topic(${quote(target)})${other}`,
    );
  }
  if (isDurable && !found.options.isDurable) {
    throw new TypeError(`${action} is in memory, declare it with durable: true`);
  }
  return {
    name: target,
    maxBytes: topics.storeOf(found.options.isDurable).capabilities.maxMessageBytes,
    publish(letter, options, trace) {
      const publish = () => topics.topic<unknown>(target).publish(letter, options);
      if (!tracing) return publish();
      const attributes = { ...messagingAttributes(log.name, "settle"), ...namesOf(name, letter.id) };
      return tracing.run(`settle ${log.name}`, { attributes, links: [trace], isRoot: true }, publish);
    },
  };
}
