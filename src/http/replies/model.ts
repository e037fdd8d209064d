/** Response models: validates results, values of streams and data of events, and reduces them. */
import { toValidator } from "../../schema/check.ts";
import { summarizeIssues } from "../../schema/issues.ts";
import { toReplySchema } from "../../schema/map_schema.ts";
import { type Dataset, keepsOwnResults, nodeOf, type Schema, type SchemaIssue } from "../../schema/schema.ts";
import type { NextValue, ValueIterator } from "../pull_stream.ts";
import type { TopicMessage } from "../../topics/message.ts";
import { ThrottledLog } from "../../log/log.ts";
import { schemaOf, type Subscription } from "../../topics/subscription.ts";
import { isEvent } from "../sse/sse.ts";

/**
 * Returns a value without what is not in its model; a promise only if the model is async. `what` is
 * the name of the value in messages.
 */
export type Reduce = (value: unknown, what?: string) => unknown;

/**
 * Compiles the validation and reduction of values to a model. A value that does not fit is a
 * `TypeError`, or a rejection if the model is async.
 */
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

/** A value that does not match its model: a mistake of the application. */
export class ModelError extends TypeError {}

function misfit(route: string, what: string, issues: readonly SchemaIssue[]): Error {
  const faults = summarizeIssues(issues, what);
  return new ModelError(`Cannot reply to ${route}: ${what} does not fit the response model, ${faults}`);
}

/**
 * Maps the values of an iterable. Unlike a generator, it passes `return()` on at once, also while
 * it makes a value, so that a source that waits is closed with its client.
 *
 * @param map If it throws, the source is closed.
 */
export function mapValues(source: AsyncIterable<unknown>, map: (value: unknown) => unknown): AsyncIterable<unknown> {
  return { [Symbol.asyncIterator]: () => new MappedValues(iteratorOf(source), map) };
}

/**
 * The iterator of an iterable. A stream's own does not let it be cancelled while it makes a value.
 */
export function iteratorOf(source: AsyncIterable<unknown>): ValueIterator {
  if (!(source instanceof ReadableStream)) return source[Symbol.asyncIterator]();
  const reader = source.getReader();
  return { next: () => reader.read(), return: () => reader.cancel() };
}

class MappedValues implements AsyncIterator<unknown> {
  readonly #source: ValueIterator;
  readonly #map: (value: unknown) => unknown;

  constructor(source: ValueIterator, map: (value: unknown) => unknown) {
    this.#source = source;
    this.#map = map;
  }

  async next(): Promise<IteratorResult<unknown>> {
    const { done = false, value }: NextValue = await this.#source.next();
    if (done) return { done, value: undefined };
    try {
      return { done, value: await this.#map(value) };
    } catch (error) {
      await this.#source.return?.();
      throw error;
    }
  }

  async return(): Promise<IteratorResult<unknown>> {
    await this.#source.return?.();
    return { done: true, value: undefined };
  }
}

/** What messages call the data of an item that is an event. */
const DATA = "the `data` of the event";
const LOGGED = "Messages of a topic do not fit the events that the route declares: readers get a gap";

/** Stands for the data of a message that is left out. */
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
   * Whether it reduces the messages of a topic. A message is the output of the topic's schema. It
   * is sent as it is if that is the declared schema, and cannot take it again.
   */
  reducesMessagesOf(subscription: Subscription): boolean {
    return this.#isRepeatable || schemaOf(subscription) !== this.#schema;
  }

  /**
   * Reduces the data of a message. The result is {@linkcode MISFIT} if the data does not fit: a
   * client would resume at the same message for ever.
   */
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

  /** Reduces the items of an application's iterable: data, or events with data. */
  ofItems(source: AsyncIterable<unknown>): AsyncIterable<unknown> {
    return mapValues(source, (item) => {
      if (!isEvent(item)) return this.#toEvent(this.reduce(item));
      return item.data === undefined ? item : this.#toEvent(this.reduce(item.data, DATA), item);
    });
  }

  /** Always an event, since the reduced data may look like one. */
  #toEvent(data: unknown, fields: object = {}): object | Promise<object> {
    return data instanceof Promise ? data.then((data) => ({ ...fields, data })) : { ...fields, data };
  }
}
