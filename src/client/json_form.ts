/** The JSON form of a type. */

/** A value that JSON carries as it is, or leaves out. */
export type Plain = string | number | boolean | null | undefined;

/**
 * A value as it arrives in JSON: a `Date` is a text, and so is a `bigint`.
 *
 * @example The JSON form of a model
 * ```ts
 * import type { Json } from "@webfw/core/client";
 * import { assertEquals } from "@std/assert";
 *
 * const entry: Json<{ title: string; added: Date }> = { title: "Emma", added: "2026-01-01T00:00:00.000Z" };
 * assertEquals(new Date(entry.added).getUTCFullYear(), 2026);
 * ```
 *
 * @category Client
 */
export type Json<Value> = unknown extends Value ? unknown
  : Value extends Plain ? Value
  : Value extends bigint ? string
  : Value extends void ? undefined
  : Value extends { toJSON(...args: never[]): infer Form } ? Form
  : { [Key in keyof Value]: Json<Value[Key]> };
