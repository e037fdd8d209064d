/** What the types of exported routes say of events and WebSockets. */
import type { Json } from "./json_form.ts";
import type { CallMistake, Get, LonePath } from "./route_types.ts";
import type { CallOptions, ClientSocket, EventOptions, RawOptions, TextEventOptions } from "./types.ts";

/** The options of events with such data. Only texts can be raw. */
export type EventOptionsOf<Data> = [Data] extends [string] ? TextEventOptions : EventOptions;

/** Whether a direction of a WebSocket has no schema: its messages are texts or bytes. */
export type IsRaw<Message> = unknown extends Message ? false : Uint8Array<ArrayBuffer> extends Message ? true : false;

/** Whether a WebSocket route has no schema at all. */
export type IsRawRoute<Ref> = true extends IsRaw<Get<Ref, "~receive">> & IsRaw<Get<Ref, "~send">> ? true : false;

/** The options of a WebSocket. */
export type SocketOptionsOf<Ref> = IsRawRoute<Ref> extends true ? [options: RawOptions] : [options?: CallOptions];

/** A path without arguments and options, or a mistake if its route needs some. */
export type LoneSocketPath<Path extends string, Ref> = IsRawRoute<Ref> extends true
  ? CallMistake<"The route has no schemas, so it needs the option 'raw'">
  : LonePath<Path, Ref>;

/**
 * An open WebSocket of a route. Where one direction alone has a schema, the other has no messages:
 * a client cannot know whether they were JSON.
 */
export type SocketOf<Ref> = IsRawRoute<Ref> extends true ? ClientSocket<Get<Ref, "~receive">, Get<Ref, "~send">>
  : ClientSocket<JsonMessage<Get<Ref, "~receive">>, Json<JsonMessage<Get<Ref, "~send">>>>;

/** The messages of a direction, if it has a schema. */
export type JsonMessage<Message> = IsRaw<Message> extends true ? never : Message;
