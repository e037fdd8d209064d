/** Response models: they validate and reduce results, values of streams, and data of events. */
import { toValidator } from "../../schema/check.ts";
import { summarizeIssues } from "../../schema/issues.ts";
import { toReplySchema } from "../../schema/map_schema.ts";
import { type Dataset, keepsOwnResults, nodeOf, type Schema, type SchemaIssue } from "../../schema/schema.ts";
import type { NextValue, ValueIterator } from "../pull_stream.ts";
import type { TopicMessage } from "../../topics/message.ts";
import { ThrottledLog } from "../../log/log.ts";
import { schemaOf, type Subscription } from "../../topics/subscription.ts";
import { isEvent } from "../sse/sse.ts";

/** Removes what is not in the model; a promise only if it is async. `what` is for messages. */
export type Reduce = (value: unknown, what?: string) => unknown;

/** A value that does not fit is a `TypeError`, or a rejection if the model is async. */
export function reducerTo(model: Schema, route: string, value = "the result"): Reduce {
  const { validate } = toValidator(toReplySchema(nodeOf(model)));
  const settle = (dataset: Dataset, what: string): unknown => {
    if (dataset.issues) throw misfit(route, what, dataset.issues);
    return dataset.value;
  };
  return (result, what = value) => {
    const dataset = validate(result);
    return dataset instanceof Promise ? dataset.then((dataset) => settle(dataset, what)) : settle(dataset, what);
  };
}

/** A value that does not fit its model: a mistake of the application. */
export class ModelError extends TypeError {}

function misfit(route: string, what: string, issues: readonly SchemaIssue[]): Error {
  const faults = summarizeIssues(issues, what);
  return new ModelError(`Cannot reply to ${route}: ${what} does not fit the response model, ${faults}`);
}

/**
 * Maps the values of an iterable. Unlike a generator, it passes `return()` on at once, also during
 * a value, so that a waiting source closes with its client. If `map` throws, the source is closed.
 */
export function mapValues(source: AsyncIterable<unknown>, map: (value: unknown) => unknown): AsyncIterable<unknown> {
  return {
    [Symbol.asyncIterator]: () => {
      const iterator = iteratorOf(source);
      const close = async () => {
        await iterator.return?.();
        return { done: true, value: undefined } as const;
      };
      const next = async () => {
        const { done = false, value }: NextValue = await iterator.next();
        if (done) return { done, value: undefined };
        try {
          return { done, value: await map(value) };
        } catch (error) {
          await close();
          throw error;
        }
      };
      return { next, return: close };
    },
  };
}

/** A stream's own iterator cannot be cancelled during a value. */
export function iteratorOf(source: AsyncIterable<unknown>): ValueIterator {
  if (!(source instanceof ReadableStream)) return source[Symbol.asyncIterator]();
  const reader = source.getReader();
  return { next: () => reader.read(), return: () => reader.cancel() };
}

/** The data of an item, in messages. */
const DATA = "the `data` of the event";
const LOGGED = "Messages of a topic do not fit the events that the route declares: readers get a gap";

/** Replaces the data of a message that is left out. */
export const MISFIT: unique symbol = Symbol("misfit");

export class DataReducer {
  readonly reduce: Reduce;
  readonly isAsync: boolean;
  readonly #schema: Schema;
  readonly #isRepeatable: boolean;
  readonly #log = new ThrottledLog("error", LOGGED);

  constructor(schema: Schema, reduce: Reduce) {
    this.reduce = reduce;
    this.isAsync = schema.async;
    this.#schema = schema;
    this.#isRepeatable = keepsOwnResults(schema);
  }

  /**
   * A message is the output of the topic's schema. If that is the declared schema, and cannot
   * validate its own output, messages are sent as they are.
   */
  reducesMessagesOf(subscription: Subscription): boolean {
    return this.#isRepeatable || schemaOf(subscription) !== this.#schema;
  }

  /** {@linkcode MISFIT} for data that does not fit: clients would resume at it forever. */
  reduceMessage(message: TopicMessage): unknown {
    try {
      const data = this.reduce(message.data);
      return data instanceof Promise ? data.catch((error) => this.#leaveOut(message, error)) : data;
    } catch (error) {
      return this.#leaveOut(message, error);
    }
  }

  #leaveOut({ id }: TopicMessage, error: unknown): typeof MISFIT {
    if (!(error instanceof ModelError)) throw error;
    this.#log.note(1, { message_id: id, error: error.message });
    return MISFIT;
  }

  /** Reduces data, or events with data. */
  ofItems(source: AsyncIterable<unknown>): AsyncIterable<unknown> {
    return mapValues(source, (item) => {
      if (!isEvent(item)) return this.#toEvent(this.reduce(item));
      return item.data === undefined ? item : this.#toEvent(this.reduce(item.data, DATA), item);
    });
  }

  /** Always an event, because reduced data may look like one. */
  #toEvent(data: unknown, fields: object = {}): object | Promise<object> {
    return data instanceof Promise ? data.then((data) => ({ ...fields, data })) : { ...fields, data };
  }
}
