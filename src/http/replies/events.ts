/** Declares that a route answers with server-sent events. */
import { type GivenSchema, isSchema, type Mistake, type Schema, schemaFault } from "../../schema/schema.ts";
import { DeclaredTopic } from "../../topics/declared_topic.ts";
import { schemaOfTopic, Topic } from "../../topics/topic.ts";
import type { EventStream, ServerSentEvent } from "../sse/sse.ts";
import { declare, type Returned } from "./declared_reply.ts";

/**
 * @ignore Made by {@linkcode Events}. `Input` is what the handler sends, `Data` what clients get.
 */
export interface EventsReply<Input, Data> extends
  Schema<
    // Messages of a topic are the output of its schema. For equal types, the compiler's messages
    // would show the type twice.
    | EventStream<[Data] extends [Input] ? Returned<Input> : Returned<Input> | Returned<Data>>
    | AsyncIterable<Returned<Input> | ServerSentEvent<Returned<Input>>>,
    Data
  > {
  readonly type: "events";
  /** The method by which a typed client finds the route, in place of GET. */
  readonly "~kind": "EVENTS";
  readonly "~yields": Returned<Input> | ServerSentEvent<Returned<Input>>;
  /** The schema of the data; undefined for that of a topic without one. */
  readonly item: Schema | undefined;
}

/**
 * Declares server-sent events, as the `response` of a route, by the schema of their data, or by the
 * topic whose messages are sent: what `topic()` or `app.topic()` returned.
 *
 * The handler returns `SSE(…)`, or is an `async function*` that yields data, or objects like
 * {@linkcode ServerSentEvent}. The data is validated and reduced to the schema. Data that does not
 * fit is logged and never sent: the reader of a topic gets a gap with the reason `schema` instead,
 * any other stream ends. Except for GET, the reply then breaks off, also when the server stops,
 * because no client reconnects. Messages of a topic whose schema transforms are sent as stored.
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
 * @category Streams
 */
export function Events<Input, Data>(
  data:
    | GivenSchema<Input, Data>
    | Topic<Data, Input>
    | DeclaredTopic<Data, Input>
    | Mistake<"Give the schema of the data, or a topic">,
): EventsReply<Input, Data> {
  const item = data instanceof Topic ? schemaOfTopic(data) : data instanceof DeclaredTopic ? data.options.schema : data;
  if (item !== undefined && !isSchema(item)) {
    throw new TypeError(`Cannot declare a reply by Events(): the argument ${schemaFault(item)}, or a topic`);
  }
  return declare({ type: "events", "~kind": "EVENTS", item });
}
