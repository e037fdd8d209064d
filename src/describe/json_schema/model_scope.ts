/** What the description of a schema asks of whoever keeps the models of a document. */
import type { SchemaNode } from "../../schema/schema.ts";
import type { JsonSchema } from "./json_schema.ts";

/** Whether what is accepted is described, or what is sent. */
export type Form = "input" | "output";

/** The way to a part of a schema: the name of the model that holds it, and the keys from there. */
export type Place = readonly string[];

/** Decides for each schema whether it is described where it stands, or as a model of its own. */
export interface ModelScope {
  /**
   * Whether generators of code read the description. If so, numbers have formats, and the options
   * of variants are models, so that a discriminator can name them.
   */
  readonly isForGenerators: boolean;
  /** Gives what the body describes, or a reference to it. */
  part(form: Form, node: SchemaNode, place: Place, body: (place: Place) => JsonSchema): JsonSchema;
  /** Makes a schema a model, of a name made of words, unless it has a name. */
  name(node: SchemaNode, words: readonly string[]): void;
  /** Hands on the reference, as a text, to what a schema refers to. */
  refer(reference: JsonSchema, settle: (ref: string) => void): void;
}

/** A part of a schema, as messages call it. */
export function subjectAt(place: Place): string {
  return place.length === 0 ? "a schema" : `"${place.join(".")}"`;
}
