/** A model of a document: a schema that has a name there. */
import type { JsonSchema } from "./json_schema.ts";
import type { Form } from "./model_scope.ts";

/** A schema in one of its forms, as a model. */
export interface Model {
  readonly form: Form;
  /** Whether its name is a title, rather than made of its use. */
  readonly isTitled: boolean;
  /** Its name, as far as nobody else wants the same. */
  readonly base: string;
  /** The same schema in the other form, if that is a model too. */
  readonly other: () => Model | undefined;
  /** What it is; set once all of it is described. */
  body: JsonSchema;
  /** The references in it, in order. */
  references: readonly Reference[];
}

/** A place that stands for a model, and gets its name at last. */
export interface Reference {
  readonly model: Model;
  readonly settle: (ref: string) => void;
}
