/** Schemas as declarations hold them: what they give, and what the compiler says where something else stands. */
import type { Schema } from "./schema.ts";

/** Stands in a type where a declaration is wrong, so that the compiler's message says why. No value has it. */
export type Mistake<Text extends string> = Text & { readonly "~mistake": never };

/**
 * A schema as an option takes it. The index makes the compiler ask whether something is a schema as
 * a whole, rather than complain of its first key.
 */
export interface GivenSchema<Input = unknown, Output = Input> extends Schema<Input, Output> {
  /** Whatever else a schema has. */
  // deno-lint-ignore no-explicit-any -- an index of unknown would refuse what is declared as an interface, as schemas are
  readonly [key: string]: any;
}

/** Schemas by the names of what they describe. */
export type Schemas = Readonly<Record<string, Schema>>;

/** What a schema gives. */
export type OutputOf<Given> = Given extends Schema<unknown, infer Value> ? Value : unknown;

/** Says what is wrong where schemas are not given by name. */
export type NotSchemas<Given> = Given extends Schema | { readonly "~standard": unknown }
  ? Mistake<"Give each schema by its name: { name: schema }">
  : Mistake<`'${NamesOfOthers<Given>}' must be a valibot schema`>;

/** The names under which something else than a schema stands. */
export type NamesOfOthers<Given> =
  & { readonly [Name in keyof Given]: Given[Name] extends Schema ? never : Name }[keyof Given]
  & string;
