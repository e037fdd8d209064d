/** Describes pipes: what of their steps tells of the value that goes in, and of the one that comes out. */
import type { SchemaNode } from "../../schema/schema.ts";
import { annotationsOf, lastingAnnotations } from "./annotation.ts";
import { constraintOf, hintOf } from "./constraint.ts";
import { converts, sentOf, survivorsOf } from "./conversion.ts";
import { allOf, annotate, type JsonSchema, restrict } from "./json_schema.ts";
import type { Form } from "./model_scope.ts";
import {
  afterTransformation,
  beforeTransformation,
  isSchemaStep,
  keepsValue,
  replacesValue,
  rewritesText,
  type Step,
  trimsText,
} from "./transformation.ts";

/** The steps of a pipe, the first of which is a schema. */
export type Pipe = readonly [SchemaNode, ...(Step | SchemaNode)[]];

/** What a later step still sees of the value that went in: all of it, a text without its ends, a text made of it, or nothing. */
type Sight = "all" | "trimmed" | "rewritten" | "nothing";

/**
 * Describes a pipe.
 *
 * @param pipe Its steps.
 * @param form What to describe.
 * @param describe Describes a schema among the steps.
 */
export function describePipe(pipe: Pipe, form: Form, describe: (part: SchemaNode) => JsonSchema): JsonSchema {
  return form === "input" ? acceptedBy(pipe, describe) : sentBy(pipe, describe);
}

function acceptedBy([first, ...steps]: Pipe, describe: (part: SchemaNode) => JsonSchema): JsonSchema {
  let schema = describe(first);
  let sight: Sight = converts(first) ? "nothing" : "all";
  let seeing = 0;
  for (const step of steps) {
    schema = narrowed(schema, step, sight, first, describe);
    sight = sightAfter(step, sight);
    if (sight !== "nothing") seeing++;
  }
  return annotate(schema, {
    ...annotationsOf(steps.slice(0, seeing)),
    ...lastingAnnotations(annotationsOf(steps)),
  });
}

/** The schema of what goes in, and gets past one more step. */
function narrowed(
  schema: JsonSchema,
  step: Step | SchemaNode,
  sight: Sight,
  first: SchemaNode,
  describe: (part: SchemaNode) => JsonSchema,
): JsonSchema {
  if (sight === "nothing") return schema;
  if (isSchemaStep(step)) return sight === "all" ? allOf([schema, describe(step)]) : schema;
  if (step.kind === "transformation") return restrict(schema, beforeTransformation(step));
  if (step.kind === "metadata") return schema;
  const told = sight === "all"
    ? pick(constraintOf(step, schema), survivorsOf(first))
    : hintOf(step, sight === "trimmed");
  return restrict(schema, told);
}

function sightAfter(step: Step | SchemaNode, sight: Sight): Sight {
  if (isSchemaStep(step)) return sight === "all" && !converts(step) ? "all" : "nothing";
  if (keepsValue(step) || sight === "nothing") return sight;
  if (!rewritesText(step)) return "nothing";
  return trimsText(step) && sight !== "rewritten" ? "trimmed" : "rewritten";
}

function sentBy(pipe: Pipe, describe: (part: SchemaNode) => JsonSchema): JsonSchema {
  const start = pipe.findLastIndex((step) => isSchemaStep(step) || replacesValue(step));
  const [first, ...steps] = pipe.slice(start) as [Step | SchemaNode, ...Step[]];
  let schema = isSchemaStep(first) ? describe(first) : afterTransformation({}, first);
  let since = 0;
  for (const [index, step] of steps.entries()) {
    if (step.kind === "validation") {
      const told = constraintOf(step, schema);
      schema = restrict(schema, isSchemaStep(first) ? pick(told, sentOf(first)) : told);
    } else if (!keepsValue(step)) {
      schema = afterTransformation(schema, step);
      since = index;
    }
  }
  return annotate(schema, {
    ...lastingAnnotations(annotationsOf(pipe.slice(1))),
    ...annotationsOf(steps.slice(since)),
  });
}

function pick(schema: JsonSchema, isWanted: (keyword: string) => boolean): JsonSchema {
  if (Object.keys(schema).every(isWanted)) return schema;
  return Object.fromEntries(Object.entries(schema).filter(([keyword]) => isWanted(keyword)));
}
