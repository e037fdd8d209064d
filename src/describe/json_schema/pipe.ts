/** Describes pipes: what of their steps tells of the value that goes in, and of the one that comes out. */
import { fallsBack, type SchemaNode } from "../../schema/schema.ts";
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

/**
 * What a later step still sees of the value that went in: all of it, a text without its ends, a
 * text made of it, or nothing.
 *
 * A trimmed text is described in both forms as a text without blanks around it. Most clients send
 * such texts, and one model serves both forms.
 */
const SIGHTS = ["all", "trimmed", "rewritten", "nothing"] as const;

type Sight = typeof SIGHTS[number];

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
  let sight = sightOf(first);
  let seeing = 0;
  for (const step of steps) {
    schema = narrowed(schema, step, sight, first, describe);
    sight = sightAfter(sight, step);
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
  if (sight === "nothing" || step.kind === "metadata") return schema;
  if (isSchemaStep(step)) return sight === "rewritten" ? schema : allOf([schema, describe(step)]);
  if (step.kind === "transformation") return restrict(schema, beforeTransformation(step));
  if (sight === "rewritten") return restrict(schema, hintOf(step));
  const told = constraintOf(step, schema);
  return restrict(schema, sight === "all" ? pick(told, survivorsOf(first)) : told);
}

/** What is seen of a value behind a schema that it went into. */
function sightOf(node: SchemaNode): Sight {
  if (!converts(node)) return "all";
  if (!node.pipe || fallsBack(node)) return "nothing";
  const [first, ...steps] = node.pipe as Pipe;
  return steps.reduce<Sight>(sightAfter, sightOf(first));
}

function sightAfter(sight: Sight, step: Step | SchemaNode): Sight {
  if (isSchemaStep(step)) return worse(sight, sightOf(step));
  if (keepsValue(step)) return sight;
  if (!rewritesText(step)) return "nothing";
  return worse(sight, trimsText(step) ? "trimmed" : "rewritten");
}

function worse(one: Sight, other: Sight): Sight {
  return SIGHTS[Math.max(SIGHTS.indexOf(one), SIGHTS.indexOf(other))]!;
}

function sentBy(pipe: Pipe, describe: (part: SchemaNode) => JsonSchema): JsonSchema {
  const start = pipe.findLastIndex((step) => isSchemaStep(step) || replacesValue(step));
  const [first, ...steps] = pipe.slice(start) as [Step | SchemaNode, ...Step[]];
  let schema = isSchemaStep(first) ? describe(first) : afterTransformation({}, first);
  let since = 0;
  // Both forms say the same of a rewritten text, so that one model serves.
  const isRewritten = pipe.slice(1, start + 1).reduce<Sight>(sightAfter, sightOf(pipe[0])) === "rewritten";
  for (const [index, step] of steps.entries()) {
    if (step.kind === "validation") {
      const told = isRewritten ? hintOf(step) : constraintOf(step, schema);
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
