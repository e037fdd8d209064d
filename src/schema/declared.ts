/** Schemas as declarations hold them: what they give, and what the compiler says where something else stands. */
import type { Schema } from "./schema.ts";

/** Stands in a type where a declaration is wrong, so that the compiler's message says why. No value has it. */
export type Mistake<Text extends string> = Text & { readonly "~mistake": never };

/** Schemas by the names of what they describe. */
export type Schemas = Readonly<Record<string, Schema>>;

/** What a schema gives. */
export type OutputOf<Given> = Given extends Schema<unknown, infer Value> ? Value : unknown;

/** Says what is wrong where schemas are not given by name. */
export type NotSchemas<Given> = Given extends Schema ? Mistake<"Give each schema by its name: { name: schema }">
  : Mistake<`'${NamesOfOthers<Given>}' must be a valibot schema`>;

/** The names under which something else than a schema stands. */
export type NamesOfOthers<Given> =
  & { readonly [Name in keyof Given]: Given[Name] extends Schema ? never : Name }[keyof Given]
  & string;
