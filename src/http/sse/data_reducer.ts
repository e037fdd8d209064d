/** Reduces the data of events to the schema that a route declares for it. */
import { keepsOwnResults, type Schema } from "../../schema/schema.ts";
import type { TopicMessage } from "../../topics/message.ts";
import { ThrottledLog } from "../../log/log.ts";
import { schemaOf, type Subscription } from "../../topics/subscription.ts";
import { mapValues } from "../mapped_values.ts";
import { ModelError, type Reduce } from "../replies/model.ts";
import { isEvent } from "./sse.ts";

/** What messages call the data of an item that is an event. */
const DATA = "the `data` of the event";
const LOGGED = "Messages of a topic do not fit the events that the route declares: readers get a gap";

/** Stands for the data of a message that is left out. */
export const MISFIT: unique symbol = Symbol("misfit");

/** What a route declares for the data of its events. */
export class DataReducer {
  /** Gives data without what is not in the schema. Data that does not fit is an error. */
  readonly reduce: Reduce;
  /** Whether it gives promises. */
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
   * Reduces the data of a message. It gives {@linkcode MISFIT} where the data does not fit: a
   * client would come back to the same message for ever.
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

  /** Reduces what an application's iterable gives: data, or events with data. */
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
