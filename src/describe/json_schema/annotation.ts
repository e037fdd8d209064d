/** What schemas say of themselves: titles, descriptions, examples and the like. */
import type { PipeAction, SchemaNode } from "../../schema/schema.ts";
import { toJson } from "./json_constant.ts";
import type { JsonSchema } from "./json_schema.ts";

/** A step of a pipe that says something. */
interface Metadata extends PipeAction {
  readonly title?: unknown;
  readonly description?: unknown;
  readonly examples?: unknown;
  readonly metadata?: Readonly<Record<string, unknown>>;
}

/** The annotations that are taken of `v.metadata`, which may hold anything: those that are texts, and those that are flags. */
const TEXTS = ["title", "description", "format"];
const FLAGS = ["deprecated", "readOnly", "writeOnly"];

/** The title that a schema was given itself, rather than a schema that it was made of. */
export function ownTitle({ pipe }: SchemaNode): string | undefined {
  return pipe && annotationsOf(pipe).title;
}

/** What steps of a pipe say, the last word of each kind; examples add up. */
export function annotationsOf(steps: readonly (PipeAction | SchemaNode)[]): JsonSchema {
  const annotations: JsonSchema = {};
  const examples: unknown[] = [];
  for (const step of steps) {
    if (!isMetadata(step)) continue;
    const said = step.metadata ?? { title: step.title, description: step.description, examples: step.examples };
    for (const key of TEXTS) if (typeof said[key] === "string") annotations[key] = said[key];
    for (const key of FLAGS) if (typeof said[key] === "boolean") annotations[key] = said[key];
    if (Array.isArray(said.examples)) examples.push(...said.examples.map(toJson));
  }
  const told = examples.filter((example) => example !== undefined);
  return told.length === 0 ? annotations : { ...annotations, examples: told };
}

/** What holds of a schema wherever it is said, be it before or after its values are converted. */
export function lastingAnnotations({ examples: _, format: __, ...lasting }: JsonSchema): JsonSchema {
  return lasting;
}

function isMetadata(step: PipeAction | SchemaNode): step is Metadata {
  return step.kind === "metadata";
}
