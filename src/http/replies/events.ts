/** Declares that a route answers with server-sent events. */
import { type GivenSchema, isSchema, type Mistake, type Schema, schemaFault } from "../../schema/schema.ts";
import { schemaOfTopic, Topic } from "../../topics/topic.ts";
import type { EventStream, ServerSentEvent } from "../sse/sse.ts";
import { DECLARED, type Returned } from "./declared_reply.ts";

/**
 * @ignore A reply of server-sent events, made by {@linkcode Events}. `Input` is the data that the
 * handler gives, `Data` the data of the events.
 */
export interface EventsReply<Input, Data> extends
  Schema<
    // The messages of a topic are the output of its schema. Messages of the compiler would show a
    // type that is the same twice.
    | EventStream<[Data] extends [Input] ? Returned<Input> : Returned<Input> | Returned<Data>>
    | AsyncIterable<Returned<Input> | ServerSentEvent<Returned<Input>>>,
    Data
  > {
  /** Distinguishes it from the schemas of JSON replies. */
  readonly type: "events";
  /** What a typed client finds the route by in place of GET. */
  readonly "~kind": "EVENTS";
  /** What an `async function*` yields; for types alone. */
  readonly "~yields": Returned<Input> | ServerSentEvent<Returned<Input>>;
  /** The schema of the data; undefined for that of a topic without one. */
  readonly item: Schema | undefined;
}

/**
 * Declares, as the `response` of a route, that it answers with server-sent events, and what their
 * data is.
 *
 * The handler returns `SSE(…)`, or is an `async function*` that yields data, or objects like
 * {@linkcode ServerSentEvent}. The data of each event is validated and reduced to the schema, so
 * that no other data leaks. Data that does not fit is never sent: the error is logged. A message of
 * a topic is left out then, with a gap of the reason `schema`; any other stream ends, and clients
 * connect again. No client connects again to another method than GET, so the reply breaks off
 * there, as it also does when the server stops: half of an answer does not look complete.
 *
 * Data of a generator that has the key `data` alone, or with `id`, `event` and `retry`, is read as
 * an event. Write `{ data: … }` around it.
 *
 * The messages of a topic are the output of its schema. They are reduced, too. If the declared
 * schema is the topic's own and cannot take them again, because it transforms, they are sent as
 * they were stored.
 *
 * @param data The schema of the data, or the topic whose messages are sent.
 * @throws {TypeError} If it is neither.
 *
 * @example Events of a topic
 * ```ts
 * import { App, Events, SSE } from "@webfw/core";
 * import { assertEquals } from "@std/assert";
 * import * as v from "valibot";
 *
 * const app = new App();
 * const orders = app.topic("orders", { schema: v.object({ id: v.number(), total: v.number() }) });
 * app.get("/orders/events", { response: Events(orders) }, async () => SSE(orders.subscribe()));
 *
 * const { content } = app.openapi().paths["/orders/events"]!.get!.responses[200] as {
 *   content: Record<string, unknown>;
 * };
 * assertEquals(Object.keys(content), ["text/event-stream"]);
 * ```
 *
 * @example Data that is not in the schema is left out
 * ```ts
 * import { App, Events } from "@webfw/core";
 * import { assertEquals } from "@std/assert";
 * import * as v from "valibot";
 *
 * const app = new App();
 * app.get("/steps", { response: Events(v.object({ step: v.number() })) }, async function* () {
 *   const row = { step: 1, secret: "s3cret" };
 *   yield row;
 *   yield { event: "last", data: { step: 2 } };
 * });
 * const response = await app.fetch(new Request("http://localhost/steps"));
 * assertEquals(await response.text(), 'data: {"step":1}\n\nevent: last\ndata: {"step":2}\n\n');
 * ```
 *
 * @category Streams
 */
export function Events<Input, Data>(
  data:
    | GivenSchema<Input, Data>
    | Topic<Data, Input>
    | Mistake<"Give the schema of the data, or a topic">,
): EventsReply<Input, Data> {
  const item = data instanceof Topic ? schemaOfTopic(data) : data;
  if (item !== undefined && !isSchema(item)) {
    throw new TypeError(`Cannot declare a reply by Events(): the argument ${schemaFault(item)}, or a topic`);
  }
  // The types alone say what a handler yields.
  return Object.freeze({ ...DECLARED, type: "events", "~kind": "EVENTS", item }) as unknown as EventsReply<Input, Data>;
}
