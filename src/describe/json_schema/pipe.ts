/** The JSON Schema of pipes: of their input, and of their output. */
import { type ConversionConfig, toJsonSchemaDefs } from "@valibot/to-json-schema";
import type { GenericSchema } from "valibot";
import { fallsBack, lazyTarget, type PipeAction, type SchemaNode } from "../../schema/schema.ts";
import { allOf, annotate, type Form, restrict, toJson, typesOf } from "./json_schema.ts";
import type { JsonSchema, JsonType } from "../../schema/json_schema.ts";
import { givesUndefined, hasDefault } from "./optionality.ts";
import {
  type Change,
  changeByStep,
  isSchemaStep,
  JSON_TEXT,
  keepsValue,
  replacesValue,
  resultOf,
  type Step,
} from "./values.ts";

export type Pipe = readonly [SchemaNode, ...(Step | SchemaNode)[]];

export function describePipe(pipe: Pipe, form: Form, describe: (part: SchemaNode) => JsonSchema): JsonSchema {
  return form === "input" ? inputOf(pipe, describe) : outputOf(pipe, describe);
}

function inputOf([first, ...steps]: Pipe, describe: (part: SchemaNode) => JsonSchema): JsonSchema {
  let schema = describe(first);
  let change = changeOf(first);
  // A default replaces only null: examples of its output are examples of its input, too.
  let isOther = makesOther(first);
  let count = 0;
  for (const step of steps) {
    if (!isOther) count++;
    isOther ||= isSchemaStep(step) ? makesOther(step) : changeByStep(step) === "replaced";
    if (change === "replaced") continue;
    if (step.kind === "validation") schema = checked(schema, step, first, change === "rewritten", "input");
    else if (isSchemaStep(step) && change === "none") schema = allOf([schema, describe(step)]);
    else if (step.type === "parse_json") schema = restrict(schema, JSON_TEXT);
    change = worse(change, changeBy(step));
  }
  return annotated(schema, steps.slice(0, count), steps);
}

function outputOf(pipe: Pipe, describe: (part: SchemaNode) => JsonSchema): JsonSchema {
  const start = pipe.findLastIndex((step) => isSchemaStep(step) || replacesValue(step));
  const [first, ...steps] = pipe.slice(start) as [Step | SchemaNode, ...Step[]];
  // Input and output of a rewritten string have one schema, so that both are one model.
  const isRewritten = pipe.slice(0, start + 1).map((step) => changeBy(step)).reduce(worse) === "rewritten";
  let schema = isSchemaStep(first) ? describe(first) : resultOf(first, {});
  let changed = 0;
  for (const [index, step] of steps.entries()) {
    if (step.kind === "validation") schema = checked(schema, step, first, isRewritten, "output");
    else if (!keepsValue(step)) {
      schema = resultOf(step, schema);
      changed = index;
    }
  }
  return annotated(schema, steps.slice(changed), pipe.slice(1));
}

function worse(one: Change, other: Change): Change {
  return one === "none" || other === "replaced" ? other : one;
}

function changeBy(step: Step | SchemaNode, seen?: Set<SchemaNode>): Change {
  return isSchemaStep(step) ? changeOf(step, seen) : changeByStep(step);
}

/** Without its parts. */
function changeOf(node: SchemaNode, seen?: Set<SchemaNode>): Change {
  if (fallsBack(node)) return "replaced";
  const ofAll = (steps: readonly unknown[]): Change =>
    (steps as Pipe).map((step) => changeBy(step, seen)).reduce(worse, "none");
  if (node.pipe) return ofAll(node.pipe);
  if (node.type === "lazy") {
    const target = lazyTarget(node);
    if (!target) return "replaced";
    return seen?.has(node) ? "none" : changeOf(target, (seen ?? new Set()).add(node));
  }
  if ((node.type === "nullable" || node.type === "nullish") && node.default !== undefined) return "replaced";
  if (node.wrapped) return changeOf(node.wrapped, seen);
  return ["intersect", "union", "variant"].includes(node.type) ? ofAll(node.options!) : "none";
}

/** Whether it replaces all values, and not only null. */
function makesOther(node: SchemaNode): boolean {
  if (node.pipe) {
    return (node.pipe as Pipe).some((step) =>
      isSchemaStep(step) ? makesOther(step) : changeByStep(step) === "replaced"
    );
  }
  if (node.type === "nullable" || node.type === "nullish") return makesOther(node.wrapped!);
  return changeOf(node) === "replaced";
}

/** Unknown to the library. */
const FORMATS: ReadonlyMap<string, JsonSchema> = new Map<string, JsonSchema>([
  ["domain", { format: "hostname" }],
  ["ip", { anyOf: ["ipv4", "ipv6"].map((format) => ({ type: "string", format })) }],
]);

/** The format of the library requires an offset, which these checks refuse. */
const WITHOUT_FORMAT = new Set(["iso_date_time", "iso_time"]);

/** Unknown to the library. A code point has at most 4 bytes. */
const LENGTHS: ReadonlyMap<string, (length: number) => JsonSchema> = new Map<string, (length: number) => JsonSchema>([
  ["code_points", (length) => ({ minLength: length, maxLength: length })],
  ["min_code_points", (length) => ({ minLength: length })],
  ["max_code_points", (length) => ({ maxLength: length })],
  ["bytes", (length) => ({ minLength: Math.ceil(length / 4), maxLength: length })],
  ["min_bytes", (length) => ({ minLength: Math.ceil(length / 4) })],
  ["max_bytes", (length) => ({ maxLength: length })],
]);

/** By types, because input and output have the same checks. */
const cachedKeywords = new WeakMap<Step, Map<string, JsonSchema>>();

function checked(
  schema: JsonSchema,
  check: Step,
  first: Step | SchemaNode,
  isRewritten: boolean,
  form: Form,
): JsonSchema {
  const types = isRewritten ? ["string" as const] : typesOf(schema);
  const keywords = cachedKeywords.getOrInsertComputed(check, () => new Map())
    .getOrInsertComputed(`${types}`, () => keywordsOf(check, types));
  const holds = (keyword: string): boolean =>
    isRewritten ? isHint(keyword) : !isSchemaStep(first) || holdsInJson(keyword, innermost(first), form);
  if (Object.keys(keywords).every(holds)) return restrict(schema, keywords);
  return restrict(schema, Object.fromEntries(Object.entries(keywords).filter(([keyword]) => holds(keyword))));
}

function keywordsOf(check: Step, types: readonly JsonType[]): JsonSchema {
  const { type, requirement } = check;
  if (type === "mime_type") {
    const mediaTypes = requirement as readonly string[];
    return mediaTypes.length === 1 ? { contentMediaType: mediaTypes[0]! } : {};
  }
  if (type === "includes" || type === "excludes") {
    return containing(check, types.includes("array") ? "array" : "string");
  }
  const format = FORMATS.get(type);
  if (format) return format;
  const length = LENGTHS.get(type);
  if (length) return length(requirement as number);
  const keywords = types.map((name) => byLibrary(check, name === "integer" ? "number" : name)).reduce(restrict, {});
  if (!(requirement instanceof RegExp) || (keywords.format !== undefined && !WITHOUT_FORMAT.has(type))) return keywords;
  const { format: _, pattern: __, ...others } = keywords;
  const pattern = patternOf(requirement);
  return pattern === undefined ? others : { ...others, pattern };
}

/** The library converts `includes` of strings only. */
function containing(check: Step, type: "array" | "string"): JsonSchema {
  const { requirement } = check;
  if (typeof requirement === "object" || toJson(requirement) !== requirement) return {};
  const keywords = type === "array"
    ? { contains: { const: requirement } }
    : byLibrary({ ...check, type: "includes" }, "string");
  return check.type === "includes" ? keywords : { not: { type, ...keywords } };
}

/** `{}` if the keywords are not JSON. */
function byLibrary(check: Step, type: JsonType): JsonSchema {
  const first = { kind: "schema", type: "any" };
  const config: ConversionConfig = {
    target: "draft-2020-12",
    overrideSchema: () => ({ type }),
    overrideAction: ({ errors, jsonSchema }) => errors ? { type } : jsonSchema,
  };
  const pipe = { ...first, pipe: [first, check] } as unknown as GenericSchema;
  const { type: narrowed, ...keywords } = toJsonSchemaDefs({ pipe }, config).pipe as JsonSchema;
  if (Object.values(keywords).some((value) => toJson(value) !== value && typeof value !== "object")) return {};
  return narrowed === type ? keywords : { type: narrowed!, ...keywords };
}

/** Undefined if the pattern would have another meaning in Unicode mode without flags. */
function patternOf({ source, flags }: RegExp): string | undefined {
  if (/[imsvy]/.test(flags)) return undefined;
  if (flags.includes("u")) return source;
  // Without Unicode mode these are letters, and a character beyond U+FFFF is two.
  if (/\\[pPu]\{|[\ud800-\udfff]/.test(source)) return undefined;
  try {
    return new RegExp(source, "u").source;
  } catch {
    return undefined;
  }
}

/**
 * For input that is rewritten later. A pattern may match only the result, such as capital letters.
 */
function isHint(keyword: string): boolean {
  return ["contentEncoding", "format", "maxLength", "minLength"].includes(keyword);
}

/** Objects drop keys, defaults add keys and items, and items may be converted. */
function holdsInJson(
  keyword: string,
  { type, entries = {}, item, items, rest, value }: SchemaNode,
  form: Form,
): boolean {
  const isFilledIn = form === "input" && Object.values(entries).some(hasDefault);
  switch (keyword) {
    case "minItems":
    case "maxItems":
      return !items || form === "output";
    case "maxProperties":
      return type !== "object" && !isFilledIn;
    case "minProperties":
      if (form === "input") return !isFilledIn;
      // JSON drops undefined values.
      return type !== "loose_object" &&
        ![...Object.values(entries), rest, value].some((part) => part && givesUndefined(part));
    default:
      return form === "output" || (!items && (!item || changeOf(item) === "none"));
  }
}

/** Without pipes and wrappers around it. */
function innermost(node: SchemaNode): SchemaNode {
  if (node.wrapped) return innermost(node.wrapped);
  return node.pipe ? innermost(node.pipe[0] as SchemaNode) : node;
}

interface Metadata extends PipeAction {
  readonly title?: unknown;
  readonly description?: unknown;
  readonly examples?: unknown;
  readonly metadata?: Readonly<Record<string, unknown>>;
}

/** These apply to all values of a pipe. */
const LASTING = /^(?:title|description|deprecated|readOnly|writeOnly|externalDocs|\$comment|x-.+)$/;

/** Not the title of a schema within its pipe. */
export function ownTitle({ pipe }: SchemaNode): string | undefined {
  return pipe?.some(isMetadata) ? annotationsOf(pipe).title : undefined;
}

/** Examples and restrictions apply only from the steps on that get the described values. */
function annotated(
  schema: JsonSchema,
  seeing: readonly (Step | SchemaNode)[],
  steps: readonly (Step | SchemaNode)[],
): JsonSchema {
  if (!steps.some(isMetadata)) return schema;
  const lasting = Object.entries(annotationsOf(steps)).filter(([keyword]) => LASTING.test(keyword));
  const given = Object.entries({ ...annotationsOf(seeing), ...Object.fromEntries(lasting) });
  // A reference becomes one of `allOf`.
  const known = schema.$ref === undefined ? schema : { allOf: [] };
  return annotate(
    schema,
    Object.fromEntries(given.filter(([key]) => !STRUCTURE.has(key) || !Object.hasOwn(known, key))),
  );
}

/** The last one of a kind wins; examples are collected. */
function annotationsOf(steps: readonly (PipeAction | SchemaNode)[]): JsonSchema {
  const annotations: JsonSchema = {};
  const examples: unknown[] = [];
  for (const step of steps) {
    if (!isMetadata(step)) continue;
    const { metadata, title, description, examples: values } = step;
    const given = metadata ?? { title, description, examples: values };
    Object.assign(annotations, keywordsIn(given));
    if (Array.isArray(given.examples)) examples.push(...given.examples.map(toJson));
  }
  const json = examples.filter((example) => example !== undefined);
  return json.length === 0 ? annotations : { ...annotations, examples: json };
}

function isMetadata(step: PipeAction | SchemaNode): step is Metadata {
  return step.kind === "metadata";
}

type Check = (value: unknown) => boolean;

const isText: Check = (value) => typeof value === "string";
const isNumber: Check = (value) => typeof value === "number";
const isCount: Check = (value) => Number.isInteger(value) && (value as number) >= 0;
const isAnything: Check = () => true;
const isObject: Check = (value) => typeof value === "object" && value !== null && !Array.isArray(value);
const isSubschema: Check = (value) => typeof value === "boolean" || isObject(value);
const isNames: Check = (value) => Array.isArray(value) && value.every(isText) && new Set(value).size === value.length;
const isSchemaList: Check = (value) => Array.isArray(value) && value.length > 0 && value.every(isSubschema);
const isSchemaMap: Check = (value) => isObject(value) && Object.values(value as object).every(isSubschema);
const isPattern: Check = (value) => {
  try {
    return isText(value) && new RegExp(value as string, "u") instanceof RegExp;
  } catch {
    return false;
  }
};

/**
 * The keywords of JSON Schema (2020-12) and OpenAPI, except `examples`, which is read separately,
 * and references and identifiers, which would have another meaning in a document.
 */
const KEYWORDS: ReadonlyMap<string, Check> = new Map([
  ...checkedBy(isText, "title description $comment format contentEncoding contentMediaType"),
  ...checkedBy((value) => typeof value === "boolean", "deprecated readOnly writeOnly uniqueItems"),
  ...checkedBy(isAnything, "default const example"),
  ...checkedBy(isNumber, "minimum maximum exclusiveMinimum exclusiveMaximum"),
  ...checkedBy(isCount, "minLength maxLength minItems maxItems minContains maxContains minProperties maxProperties"),
  ...checkedBy(isSchemaList, "allOf anyOf oneOf prefixItems"),
  ...checkedBy(isSubschema, "not if then else items contains propertyNames contentSchema"),
  ...checkedBy(isSubschema, "additionalProperties unevaluatedItems unevaluatedProperties"),
  ...checkedBy(isSchemaMap, "properties patternProperties dependentSchemas"),
  ["enum", Array.isArray],
  ["multipleOf", (value) => isNumber(value) && (value as number) > 0],
  ["pattern", isPattern],
  ["required", isNames],
  ["dependentRequired", (value) => isObject(value) && Object.values(value as object).every(isNames)],
  ["type", (value) => TYPES.has(value) || (isNames(value) && (value as string[]).every((name) => TYPES.has(name)))],
  ["externalDocs", (value) => isObject(value) && isText((value as { url?: unknown }).url)],
  ["xml", isObject],
]);

function checkedBy(check: Check, keywords: string): [string, Check][] {
  return keywords.split(" ").map((keyword) => [keyword, check]);
}

/** Ignored if the schema has them: metadata must not contradict it. */
const STRUCTURE: ReadonlySet<string> = new Set(
  ("type const enum allOf anyOf oneOf items prefixItems properties patternProperties additionalProperties required")
    .split(" "),
);

const TYPES: ReadonlySet<unknown> = new Set(["array", "boolean", "integer", "null", "number", "object", "string"]);

/** The keywords and extensions (`x-…`) of metadata, as JSON. */
function keywordsIn(metadata: Readonly<Record<string, unknown>>): JsonSchema {
  const found: JsonSchema = {};
  for (const [keyword, given] of Object.entries(metadata)) {
    const isValid = KEYWORDS.get(keyword) ?? (/^x-./.test(keyword) && isAnything);
    if (!isValid) continue;
    const value = toJson(given);
    if (value !== undefined && isValid(value)) found[keyword] = value;
  }
  return found;
}
