import { fallsBack, type PipeAction, type SchemaNode } from "../../schema/schema.ts";
import {
  allOf,
  annotate,
  type Form,
  type JsonSchema,
  type JsonType,
  restrict,
  toJson,
  typesOf,
} from "./json_schema.ts";
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
import { givesUndefined } from "./optionality.ts";
import { lazyTarget } from "../../schema/lazy_schema.ts";
import { toJsonSchemaDefs } from "@valibot/to-json-schema";
import type { GenericSchema } from "valibot";
import { literalPattern, patternOf } from "./pattern.ts";

/**
 * What the checks of valibot say in JSON Schema. A check that says nothing there leaves more described than is accepted.
 *
 * Lengths and dates mean what JSON Schema says: `src/schema/standard_check.ts` sees to it.
 */

/**
 * Formats, which stand in place of patterns.
 *
 * A format that would refuse what the check accepts is left out: a `time` has an offset, which the
 * check of that name refuses.
 */
const FORMATS: ReadonlyMap<string, JsonSchema> = new Map<string, JsonSchema>([
  ["base64", { contentEncoding: "base64" }],
  ["email", { format: "email" }],
  ["rfc_email", { format: "email" }],
  ["domain", { format: "hostname" }],
  ["ipv4", { format: "ipv4" }],
  ["ipv6", { format: "ipv6" }],
  ["iso_date", { format: "date" }],
  ["iso_timestamp", { format: "date-time" }],
  ["url", { format: "uri" }],
  ["uuid", { format: "uuid" }],
]);

/** What a check that is a function accepts is within these. */
const PATTERNS: ReadonlyMap<string, string> = new Map<string, string>([
  ["credit_card", "^[\\d -]+$"],
  ["imei", "^[\\d-]+$"],
  ["isbn", "^[\\dX -]+$"],
]);

/** The bounds of a text's length that follow from those of something else that is counted in it. */
const COUNTS: ReadonlyMap<string, (count: number) => JsonSchema> = new Map<string, (count: number) => JsonSchema>([
  ["code_points", (count) => ({ minLength: count, maxLength: count })],
  ["min_code_points", (count) => ({ minLength: count })],
  ["max_code_points", (count) => ({ maxLength: count })],
  ["graphemes", (count) => ({ minLength: count })],
  ["min_graphemes", (count) => ({ minLength: count })],
  ["words", (count) => ({ minLength: count })],
  ["min_words", (count) => ({ minLength: count })],
  ["bytes", (count) => ({ minLength: Math.ceil(count / 4), maxLength: count })],
  ["min_bytes", (count) => ({ minLength: Math.ceil(count / 4) })],
  ["max_bytes", (count) => ({ maxLength: count })],
]);

/** The keywords of what has to be or to hold a value, by that value. */
const VALUES: ReadonlyMap<string, (value: unknown) => JsonSchema> = new Map<string, (value: unknown) => JsonSchema>([
  ["value", (value) => ({ const: value })],
  ["not_value", (value) => ({ not: { const: value } })],
  ["includes", (value) => ({ contains: { const: value } })],
  ["excludes", (value) => ({ not: { type: "array", contains: { const: value } } })],
]);

/** The keywords of checks of a text, by their requirement. */
const TEXTS: ReadonlyMap<string, (text: string) => JsonSchema> = new Map<string, (text: string) => JsonSchema>([
  ["starts_with", (text) => ({ pattern: `^${literalPattern(text)}` })],
  ["ends_with", (text) => ({ pattern: `${literalPattern(text)}$` })],
  ["includes", (text) => ({ pattern: literalPattern(text) })],
  ["excludes", (text) => ({ not: { type: "string", pattern: literalPattern(text) } })],
]);

/** A check that says something only of values of one JSON type is described once for each type that the schema has. */
const STUBS: readonly JsonType[] = ["string", "array", "number", "object"];

/** What was found for checks, by the types that values have: both forms of a schema have the same checks. */
const found = new WeakMap<Step, Map<string, JsonSchema>>();

/** The keywords that a check adds to a schema. */
export function constraintOf(check: Step, schema: JsonSchema): JsonSchema {
  let byTypes = found.get(check);
  if (!byTypes) found.set(check, byTypes = new Map());
  const types = String(schema.type);
  let constraint = byTypes.get(types);
  if (!constraint) byTypes.set(types, constraint = find(check, typesOf(schema)));
  return constraint;
}

function find(check: Step, types: readonly JsonType[]): JsonSchema {
  const { type, requirement } = check;
  const format = FORMATS.get(type) ?? {};
  // A format says enough: what is made by the pattern of an e-mail address is hardly one.
  if (format.format !== undefined) return format;
  const pattern = requirement instanceof RegExp ? patternOf(requirement) : PATTERNS.get(type);
  if (pattern !== undefined) return { ...format, pattern };
  if (requirement instanceof RegExp || FORMATS.has(type)) return format;
  const count = COUNTS.get(type);
  if (count) return count(requirement as number);
  const isText = types.includes("string") && !types.includes("array");
  const text = isText ? TEXTS.get(type) : undefined;
  if (text) return text(requirement as string);
  const value = VALUES.get(type);
  if (value) return isComparable(requirement) ? value(requirement) : {};
  if (type === "mime_type") return mediaTypeOf(requirement as readonly string[]);
  if (type === "values" || type === "not_values") return valuesConstraint(type, requirement as readonly unknown[]);
  return types.map((name) => fromLibrary(check, name === "integer" ? "number" : name)).reduce(restrict, {});
}

/**
 * What a check of a rewritten text says of the text before and after.
 *
 * The pattern may hold only for the text after: capitals are accepted where they are made small.
 */
export function hintOf(check: Step): JsonSchema {
  const { minLength, maxLength, format, contentEncoding } = constraintOf(check, { type: "string" });
  return {
    ...(format !== undefined ? { format } : {}),
    ...(contentEncoding !== undefined ? { contentEncoding } : {}),
    ...(minLength !== undefined ? { minLength } : {}),
    ...(maxLength !== undefined ? { maxLength } : {}),
  };
}

function mediaTypeOf(types: readonly string[]): JsonSchema {
  return types.length === 1 ? { contentMediaType: types[0]! } : {};
}

function valuesConstraint(type: string, values: readonly unknown[]): JsonSchema {
  if (!values.every(isComparable)) return {};
  if (type === "values") return values.length === 0 ? { not: {} } : { enum: [...new Set(values)] };
  return values.length === 0 ? {} : { not: { enum: [...new Set(values)] } };
}

/** Whether a value is the same in JSON, where it is compared. */
function isComparable(value: unknown): boolean {
  return typeof value !== "object" && toJson(value) === value;
}

/** What the library says of a check where values have a type; nothing where it cannot tell. */
function fromLibrary(check: Step, type: JsonType): JsonSchema {
  if (!STUBS.includes(type)) return {};
  const stub = { kind: "schema", type: "any" };
  const described = toJsonSchemaDefs(
    { part: { ...stub, pipe: [stub, check] } as unknown as GenericSchema },
    {
      target: "draft-2020-12",
      overrideSchema: () => ({ type }),
      overrideAction: ({ errors, jsonSchema }) => errors ? { type } : jsonSchema,
    },
  ).part as JsonSchema;
  const { type: narrowed, ...keywords } = described;
  const isJson = Object.values(keywords).every((value) => typeof value === "number" && Number.isFinite(value));
  if (!isJson) return {};
  return narrowed === type ? keywords : { type: narrowed!, ...keywords };
}

/** What schemas say of themselves: titles, descriptions, examples and the like. */

/** A step of a pipe that says something. */
interface Metadata extends PipeAction {
  readonly title?: unknown;
  readonly description?: unknown;
  readonly examples?: unknown;
  readonly metadata?: Readonly<Record<string, unknown>>;
}

/** The annotations that are taken of `v.metadata`, which may hold anything: those that are texts, and those that are flags. */
const TEXT_ANNOTATIONS = ["title", "description", "format"];
const FLAG_ANNOTATIONS = ["deprecated", "readOnly", "writeOnly"];

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
    for (const key of TEXT_ANNOTATIONS) if (typeof said[key] === "string") annotations[key] = said[key];
    for (const key of FLAG_ANNOTATIONS) if (typeof said[key] === "boolean") annotations[key] = said[key];
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

/** Tells whether what a schema gives is what it was given, so that a later check says something of the latter. */

/** Whether a schema may give another value than it was given, its parts apart. */
export function converts(node: SchemaNode): boolean {
  return changes(node, new Set(), false);
}

/**
 * The keywords of a check that tell of the value before a schema, although it was the value after it that was checked.
 *
 * @returns A test of keywords.
 */
export function survivorsOf(node: SchemaNode): (keyword: string) => boolean {
  if (!changes(node, new Set(), true)) return () => true;
  const { type, entries } = innermost(node);
  if (type === "array") return (keyword) => keyword === "minItems" || keyword === "maxItems";
  if (type === "record") return (keyword) => keyword.endsWith("Properties");
  if (!entries || Object.values(entries).some(isFilledIn)) return () => false;
  return (keyword) => keyword === "minProperties" || (keyword === "maxProperties" && type !== "object");
}

/**
 * The keywords of a check that tell of what is sent of a value, although it was the value itself that was checked.
 *
 * @returns A test of keywords.
 */
export function sentOf(node: SchemaNode): (keyword: string) => boolean {
  const { type, entries = {}, value, rest } = innermost(node);
  // JSON leaves out a key whose value is undefined, and an intersection adds the keys of its other parts.
  const sendsAll = type !== "loose_object" &&
    [...Object.values(entries), value, rest].every((part) => !part || !givesUndefined(part));
  return (keyword) => keyword === "minProperties" ? sendsAll : keyword !== "maxProperties" || type !== "object";
}

/** Whether a value is changed as a whole or, where that is asked, in its parts. */
function changes(node: SchemaNode, seen: Set<SchemaNode>, inParts: boolean): boolean {
  if (seen.has(node)) return false;
  seen.add(node);
  const isChanged = (part: SchemaNode): boolean => changes(part, seen, inParts);
  if (fallsBack(node)) return true;
  if (node.pipe) {
    return (node.pipe as readonly SchemaNode[]).some((step) =>
      step.kind === "schema" ? isChanged(step) : !keepsValue(step)
    );
  }
  switch (node.type) {
    case "nullable":
    case "nullish":
      return node.default !== undefined || isChanged(node.wrapped!);
    case "optional":
    case "undefinedable":
    case "exact_optional":
    case "non_optional":
    case "non_nullable":
    case "non_nullish":
      return isChanged(node.wrapped!);
    case "union":
    case "variant":
    case "intersect":
      return (node.options as readonly SchemaNode[]).some(isChanged);
    case "lazy": {
      // Parts of parts may go on without end.
      const target = inParts ? undefined : lazyTarget(node);
      return target === undefined || isChanged(target);
    }
    default:
      return inParts && changesParts(node, isChanged);
  }
}

function changesParts(
  { type, entries = {}, rest, item, items, key, value }: SchemaNode,
  isChanged: (part: SchemaNode) => boolean,
): boolean {
  // Keys and items that are not declared are dropped, items that are missing filled in.
  if (type === "object" || items || Object.values(entries).some(isFilledIn)) return true;
  const parts = [...Object.values(entries), rest, item, key as SchemaNode | undefined, value];
  return parts.some((part) => part && isChanged(part));
}

/** Whether an entry is there although it was left out. */
function isFilledIn(entry: SchemaNode): boolean {
  return entry.default !== undefined || entry.fallback !== undefined;
}

/** The schema of the value itself, without what is laid around it. */
function innermost(node: SchemaNode): SchemaNode {
  if (node.wrapped) return innermost(node.wrapped);
  if (node.pipe) return innermost(node.pipe[0] as SchemaNode);
  return node;
}

/** Describes pipes: what of their steps tells of the value that goes in, and of the one that comes out. */

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
