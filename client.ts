/**
 * A typed client for the routes that a module of the server exports. No code is generated, and
 * nothing of the server is loaded.
 *
 * @module
 */

export type { Json, Plain } from "./src/client/json_form.ts";
export type {
  Call,
  CallOptions,
  Client,
  ClientEvent,
  ClientOptions,
  ClientSocket,
  Connect,
  HeaderValues,
  IdempotentOptions,
  Listen,
  Open,
  OptionsOf,
  Rest,
} from "./src/client/types.ts";
export type {
  Arguments,
  EmptyReply,
  Fields,
  Flat,
  Free,
  FreeNames,
  Get,
  NamesOf,
  Needed,
  PathOf,
  ReplyOf,
  Routes,
  Typed,
  Under,
} from "./src/client/route_types.ts";
