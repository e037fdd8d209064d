/** The consumers of an application. */
import { loggerOf, makeLog } from "../../log/log.ts";
import { nearest, quote } from "../../base/options.ts";
import { SpanKind, tracing } from "../../log/telemetry.ts";
import type { ConsumerContext, ConsumerTry, DeclaredConsumer, FailedMessage } from "../../topics/consume_options.ts";
import { cursorBefore, type TopicMessage, toPosition } from "../../topics/message.ts";
import { messagingAttributes } from "../../topics/topic_log.ts";
import type { Topics } from "../../topics/topics.ts";
import { SYSTEM_CLOCK } from "../../base/clock.ts";
import { type Service, stopReason } from "../../base/service.ts";
import type { TopicStore } from "../../store/topic_store.ts";
import { ChangeWatch } from "./change_watch.ts";
import { Consumer } from "./consumer.ts";
import type { DeadLetterTopic } from "./failures.ts";
import { readLetter } from "./letter.ts";

/** How long a start waits for the store, in milliseconds. */
const START_TIMEOUT = 3_000;

interface Owner {
  readonly app: object;
  readonly state: unknown;
}

export class ConsumerService implements Service<Owner> {
  readonly #topics: Topics;
  #consumers: readonly Consumer[] = [];
  #watches: readonly ChangeWatch[] = [];

  constructor(topics: Topics) {
    this.#topics = topics;
  }

  /**
   * If the store cannot be reached, the application starts after 3 seconds without waiting.
   *
   * @throws {TypeError} If the topic of dead letters is not declared or is less durable, or the
   * store has no records.
   */
  async start(owner: Owner): Promise<void> {
    const topics = this.#topics;
    this.#consumers = await Promise.all(topics.consumers.map((declared) => openConsumer(declared, topics, owner)));
    const stores = new Set(topics.consumers.map(({ isDurable }) => topics.storeOf(isDurable)));
    this.#watches = await Promise.all(Array.from(stores, (store) => this.#watch(store)));
    const { promise: timeout, resolve } = Promise.withResolvers<void>();
    const cancel = SYSTEM_CLOCK.after(START_TIMEOUT, resolve);
    try {
      await Promise.race([Promise.all(this.#consumers.map((consumer) => consumer.start())), timeout]);
    } catch (error) {
      this.abort(stopReason());
      await this.close();
      throw error;
    } finally {
      cancel();
    }
  }

  drain(): void {
    for (const consumer of this.#consumers) consumer.drain();
  }

  abort(reason: DOMException): void {
    for (const consumer of this.#consumers) consumer.abort(reason);
  }

  async close(): Promise<void> {
    for (const watch of this.#watches) watch.close();
    await Promise.all(this.#consumers.map((consumer) => consumer.close()));
    this.#consumers = this.#watches = [];
  }

  async #watch(store: TopicStore): Promise<ChangeWatch> {
    const watch = new ChangeWatch({
      records: await store.openRecords!(),
      // Workers share what is in memory, and are not called back.
      isTold: store.capabilities.durability === "memory",
      onChange: () => {
        for (const consumer of this.#consumers) consumer.notify();
      },
      clock: SYSTEM_CLOCK,
    });
    watch.start();
    return watch;
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
    handle: (messages, context, traces) => {
      return handle(declared, messages, contextOf(declared, messages, owner, context), traces);
    },
    deadLetter: options.deadLetter === undefined ? undefined : openDeadLetter(declared, options.deadLetter, topics),
    clock: SYSTEM_CLOCK,
  });
}

function contextOf(
  { name, log, options }: DeclaredConsumer,
  messages: readonly TopicMessage[],
  owner: Owner,
  { attempt, signal }: ConsumerTry,
): ConsumerContext & Owner {
  return {
    ...owner,
    attempt,
    signal,
    get log() {
      const subject = options.batch ? { messages: messages.length } : { message_id: messages[0]!.id };
      return makeLog(loggerOf(owner.app, { topic: log.name, consumer: name, ...subject, attempt }));
    },
  };
}

/** Runs the handler in a trace of its own, linked to those of the publishers. */
async function handle(
  { name, log, options: { batch }, handler }: DeclaredConsumer,
  messages: readonly TopicMessage[],
  context: ConsumerContext,
  traces: readonly (string | undefined)[],
): Promise<readonly FailedMessage[]> {
  const run = async (): Promise<readonly FailedMessage[]> => {
    const call = handler as (given: unknown, context: ConsumerContext) => unknown;
    const returned = await call(batch ? messages : messages[0], context);
    // A returned Error counts as a thrown one.
    if (returned instanceof Error) throw returned;
    return batch ? failedIn(returned, messages, `the consumer "${name}" of the topic "${log.name}"`) : [];
  };
  if (!tracing) return await run();
  const options = {
    kind: SpanKind.CONSUMER,
    attributes: {
      ...messagingAttributes(log.name, "process"),
      "messaging.consumer.group.name": name,
      ...(batch ? { "messaging.batch.message_count": messages.length } : { "messaging.message.id": messages[0]!.id }),
      "webfw.consumer.attempt": context.attempt,
    },
    links: [...new Set(traces)],
    isRoot: true,
    // The application stops, or another process may have the message: it will be handled again.
    isExpected: () => context.signal.aborted && context.signal.reason.name === "AbortError",
  };
  return await tracing.run(`process ${log.name}`, options, run);
}

/**
 * The messages that failed, as the handler of a batch returned them.
 *
 * @throws {TypeError} If it returned anything else. Then all messages have failed.
 */
function failedIn(returned: unknown, messages: readonly TopicMessage[], consumer: string): readonly FailedMessage[] {
  if (returned === undefined) return [];
  const action = `Cannot take the result of ${consumer}`;
  const { failed } = (returned ?? {}) as { readonly failed?: unknown };
  if (!Array.isArray(failed)) {
    throw new TypeError(
      `${action}: the handler of a batch must return nothing, or { failed: [message.id, …] }, got ${quote(returned)}`,
    );
  }
  const ids = new Set<unknown>(messages.map(({ id }) => id));
  const wrong = failed.findIndex((entry) => !ids.has(typeof entry === "object" ? entry?.id : entry));
  if (wrong < 0) return failed;
  throw new TypeError(
    `${action}: failed must have ids of messages of the batch, got ${
      quote(failed[wrong])
    }; write failed: [message.id], or [{ id: message.id, error }]`,
  );
}

function namesOf(consumer: string, id: string): Record<string, string> {
  return { "messaging.consumer.group.name": consumer, "messaging.message.id": id };
}

/** @throws {TypeError} If there is no such topic, or it is less durable. */
function openDeadLetter(consumer: DeclaredConsumer, target: string, topics: Topics): DeadLetterTopic {
  const { name, log, isDurable } = consumer;
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
    async read(letter, at) {
      const letters = { name: target, policy: found.options.policy };
      const { messages: [stored] } = await topics.storeOf(found.options.isDurable)
        .read(letters, cursorBefore(letter), { maxMessages: 1, maxBytes: 1 });
      if (stored?.cursor !== letter) return undefined;
      const { id, message } = readLetter(stored, { topic: log.name, name }) ?? {};
      return id !== undefined && toPosition(id).cursor === at ? message : undefined;
    },
    publish(letter, options, trace) {
      const publish = () => topics.topic<unknown>(target).publish(letter, options);
      if (!tracing) return publish();
      const attributes = { ...messagingAttributes(log.name, "settle"), ...namesOf(name, letter.id) };
      return tracing.run(`settle ${log.name}`, { attributes, links: [trace], isRoot: true }, publish);
    },
  };
}
