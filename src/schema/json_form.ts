/** The JSON form of values, as a type. */

/**
 * A value as JSON brings it to the other side: a date is a text, and what has `toJSON()` is what
 * that gives.
 */
export type JsonForm<Value> = unknown extends Value ? unknown
  : Value extends string | number | boolean | null | undefined ? Value
  : Value extends bigint ? string
  : Value extends { toJSON(...args: never[]): infer Plain } ? Plain
  : { [Key in keyof Value]: JsonForm<Value[Key]> };
