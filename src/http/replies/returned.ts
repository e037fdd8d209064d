/** The results that handlers may return for a model, as types. */
import type { EventStream } from "../sse/sse.ts";

/** The values that a handler can return for a model. Their parts can be read-only. */
export type Returned<Model> = unknown extends Model ? unknown
  : Model extends Atom ? Model
  : { readonly [Key in keyof Model]: Returned<Model[Key]> };

/** The values that a handler can yield for a model, or for a declared reply: its `~yields`. */
export type Yielded<Model, Reply> = [Reply["~yields" & keyof Reply]] extends [never] ? Returned<Model>
  : Reply["~yields" & keyof Reply];

/** A value whose parts are not checked. */
export type Atom =
  | string
  | number
  | boolean
  | bigint
  | symbol
  | null
  | undefined
  | Date
  | Blob
  | Uint8Array
  | EventStream
  | AsyncIterable<unknown>
  | ((...args: never[]) => unknown);
