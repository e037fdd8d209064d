import * as v from "valibot";
import { type Dataset, fallsBack, type PipeAction, resolveLazy, type RunConfig, type SchemaNode } from "./schema.ts";
import { describeMissingKeys } from "./issues.ts";
import { type ActionNode, toStandardCheck } from "./standard_check.ts";

/**
 * Remembers the results of lazy schemas within one run. A union tries each of its options on the
 * same part of a value, and so do the unions within it: without a memory, the work would double
 * with each level of a recursive schema.
 */

type Result = Dataset | Promise<Dataset>;

/** One in so many calls looks at its run: a look costs as much as a small schema. */
const SAMPLING = 64;
/** A run with more looks than this is long. Its results are remembered from then on. */
const MAX_LOOKS = 16;
/**
 * How many remembered faults one run hands out again. Both parts of an intersection list the faults
 * of what they share: their number would double with each level.
 */
const MAX_REPEATED = 1_000;

/** The calls of all runs together. */
let count = 0;
/** Each run has a configuration of its own. */
const runs = new WeakMap<RunConfig, Run>();
/** The configuration of the last long run. */
let longRun: RunConfig | undefined;

/** What is known of one run. */
class Run {
  /** How often it was looked at. */
  looks = 0;
  /** How many faults were handed out again. */
  repeated = 0;
  readonly #results = new WeakMap<SchemaNode, WeakMap<object, Result>>();

  /** The results of a schema by the parts of the value. */
  of(node: SchemaNode): WeakMap<object, Result> {
    let results = this.#results.get(node);
    if (!results) this.#results.set(node, results = new WeakMap());
    return results;
  }

  /** Hands out a remembered result. */
  repeat(dataset: Dataset): Dataset {
    const { issues } = dataset;
    if (!issues) return copyOf(dataset);
    const isOften = this.repeated >= MAX_REPEATED;
    this.repeated += issues.length;
    return copyOf(isOften ? { ...dataset, issues: [issues[0]] } : dataset);
  }
}

/**
 * Runs a lazy schema; in a long run, once for each part of the value.
 *
 * @param node The schema.
 * @param dataset The part.
 * @param config That of the run.
 */
export function runLazy(node: SchemaNode, dataset: Dataset, config: RunConfig): Result {
  const isSampled = ++count % SAMPLING === 0;
  if (config !== longRun && !(isSampled && isLong(config))) return node["~run"](dataset, config);
  longRun = config;
  const { value } = dataset;
  if (typeof value !== "object" || value === null) return node["~run"](dataset, config);
  const run = runOf(config);
  const results = run.of(node);
  const known = results.get(value);
  if (known) return known instanceof Promise ? known.then((dataset) => run.repeat(dataset)) : run.repeat(known);
  const result = node["~run"](dataset, config);
  results.set(value, result instanceof Promise ? copyLater(result) : copyOf(result));
  return result;
}

function runOf(config: RunConfig): Run {
  let run = runs.get(config);
  if (!run) runs.set(config, run = new Run());
  return run;
}

function isLong(config: RunConfig): boolean {
  return ++runOf(config).looks > MAX_LOOKS;
}

function copyLater(result: Promise<Dataset>): Promise<Dataset> {
  const copy = result.then(copyOf);
  // The first caller gets the failure.
  copy.catch(() => {});
  return copy;
}

/** valibot adds to the path of each fault on its way outwards. */
function copyOf({ typed, value, issues }: Dataset): Dataset {
  const copy: Dataset = { value };
  if (typed !== undefined) copy.typed = typed;
  if (issues) {
    copy.issues = issues.map((issue) => ({ ...issue, ...(issue.path && { path: [...issue.path] }) })) as never;
  }
  return copy;
}

/** Makes a schema again from other parts: the one way in which webfw adapts a schema to text or to JSON. */

/** Maps a part of a schema. */
export type MapPart = (part: SchemaNode) => SchemaNode;

/**
 * The same schema with each of its parts mapped; the very same object where no part changed.
 *
 * Schemas are made anew by their own constructors, since many close over their parts.
 */
export function mapSchema(node: SchemaNode, map: MapPart): SchemaNode {
  if (node.pipe) return mapPipe(node, node.pipe, map);
  const rebuilt = rebuild(node, map);
  return rebuilt === node ? node : keepFallback(node, rebuilt);
}

/** What {@linkcode preprocess} laid around a schema. */
export interface Preprocessing {
  readonly node: SchemaNode;
  readonly convert: (value: unknown) => unknown;
}

// Beside the schemas, not in them: valibot's pipes copy the properties of their first step.
const conversions = new WeakMap<SchemaNode, Preprocessing>();

/**
 * A schema that converts its input first. Of a key that is missing, an object schema gives the
 * message of the key's own schema.
 */
export function preprocess(node: SchemaNode, convert: Preprocessing["convert"]): SchemaNode {
  const describe = (dataset: Dataset): Dataset => dataset.issues ? describeMissingKeys(node, dataset) : dataset;
  const run: SchemaNode["~run"] = (dataset, config) => {
    dataset.value = convert(dataset.value);
    return node["~run"](dataset, config);
  };
  const describingRun: SchemaNode["~run"] = (dataset, config) => {
    const result = run(dataset, config);
    return node.async ? (result as Promise<Dataset>).then(describe) : describe(result as Dataset);
  };
  const converting: SchemaNode = { ...node, "~run": node.entries ? describingRun : run };
  conversions.set(converting, { node, convert });
  return converting;
}

/** The conversion that a schema was given, if any. */
export function preprocessingOf(node: SchemaNode): Preprocessing | undefined {
  return conversions.get(node);
}

/** Schemas with the checks of the standard: a lazy schema asks for the same ones at every value. */
const standards = new WeakMap<SchemaNode, SchemaNode>();

/**
 * The same schema with the checks that {@linkcode toStandardCheck} makes; the very same object
 * where no check changed. The forms of a schema for what is read have them already.
 */
export function withStandardChecks(node: SchemaNode): SchemaNode {
  let standard = standards.get(node);
  if (!standard) standards.set(node, standard = mapSchema(node, withStandardChecks));
  return standard;
}

/** Schemas after a transformation see its result, not what was sent: their input stays as it is. */
function mapPipe(
  node: SchemaNode,
  pipe: readonly (SchemaNode | PipeAction)[],
  map: MapPart,
): SchemaNode {
  let raw = true;
  const steps = pipe.map((step) => {
    if (step.kind === "transformation") raw = false;
    if (step.kind === "validation") return toStandardCheck(step as ActionNode, node);
    if (step.kind !== "schema") return step;
    const mapped = raw ? map(step as SchemaNode) : withStandardChecks(step as SchemaNode);
    if (transforms(step as SchemaNode)) raw = false;
    return mapped;
  });
  if (steps.every((step, index) => step === pipe[index])) return node;
  const build = (node.async ? v.pipeAsync : v.pipe) as unknown as (
    ...steps: unknown[]
  ) => SchemaNode;
  return keepFallback(node, build(...steps));
}

function transforms(node: SchemaNode): boolean {
  return node.pipe?.some((step) =>
    step.kind === "transformation" ||
    (step.kind === "schema" && step !== node && transforms(step as SchemaNode))
  ) ?? false;
}

/** `v.fallback` closes over the schema it wraps, so it is laid around the new one again. */
function keepFallback(node: SchemaNode, rebuilt: SchemaNode): SchemaNode {
  if (!fallsBack(node)) return rebuilt;
  const wrap = (node.async ? v.fallbackAsync : v.fallback) as unknown as (
    schema: SchemaNode,
    fallback: unknown,
  ) => SchemaNode;
  return wrap(rebuilt, node.fallback);
}

function rebuild(node: SchemaNode, map: MapPart): SchemaNode {
  switch (node.type) {
    case "object":
    case "loose_object":
    case "strict_object":
      return again(node, [node.entries], [mapRecord(node.entries, map)]);
    case "object_with_rest":
      return again(node, [node.entries, node.rest], [
        mapRecord(node.entries, map),
        mapOne(node.rest, map),
      ]);
    case "array":
      return again(node, [node.item], [mapOne(node.item, map)]);
    case "tuple":
    case "loose_tuple":
    case "strict_tuple":
      return again(node, [node.items], [mapList(node.items, map)]);
    case "tuple_with_rest":
      return again(node, [node.items, node.rest], [
        mapList(node.items, map),
        mapOne(node.rest, map),
      ]);
    case "record":
      return again(node, [node.key, node.value], [
        withStandardChecks(node.key as SchemaNode),
        mapOne(node.value, map),
      ]);
    case "union":
    case "intersect":
      return again(node, [node.options], [
        mapList(node.options as SchemaNode[], map),
      ]);
    case "variant":
      return again(node, [node.key, node.options], [
        node.key,
        mapList(node.options as SchemaNode[], map),
      ]);
    case "optional":
    case "nullable":
    case "nullish":
    case "undefinedable":
    case "exact_optional": {
      const wrapped = mapOne(node.wrapped, map);
      return wrapped === node.wrapped ? node : node.reference(wrapped, node.default);
    }
    case "lazy":
      return lazy(node, map);
    case "non_optional":
    case "non_nullable":
    case "non_nullish":
      return again(node, [node.wrapped], [mapOne(node.wrapped, map)]);
    default:
      return node;
  }
}

function again(
  node: SchemaNode,
  before: readonly unknown[],
  after: readonly unknown[],
): SchemaNode {
  return after.every((part, index) => part === before[index]) ? node : node.reference(...after, node.message);
}

/** Made anew in any case: what is laid around a lazy schema, such as `v.cache`, closes over its getter. */
function lazy(declared: SchemaNode, map: MapPart): SchemaNode {
  const form = declared.async
    ? v.lazyAsync(async (input) => map(await resolveLazy(declared, input)) as never)
    : v.lazy((input) => map(resolveLazy(declared, input) as SchemaNode) as never);
  const node = form as unknown as SchemaNode;
  return { ...node, "~run": (dataset, config) => runLazy(node, dataset, config) };
}

function mapOne(
  part: SchemaNode | undefined,
  map: MapPart,
): SchemaNode | undefined {
  return part && map(part);
}

function mapList(
  parts: readonly SchemaNode[] | undefined,
  map: MapPart,
): readonly SchemaNode[] | undefined {
  const mapped = parts?.map(map);
  return mapped?.some((part, index) => part !== parts?.[index]) ? mapped : parts;
}

function mapRecord(
  parts: Readonly<Record<string, SchemaNode>> | undefined,
  map: MapPart,
): Readonly<Record<string, SchemaNode>> | undefined {
  if (!parts) return parts;
  let changed = false;
  const mapped: Record<string, SchemaNode> = {};
  for (const [key, part] of Object.entries(parts)) {
    const to = map(part);
    if (to !== part) changed = true;
    mapped[key] = to;
  }
  return changed ? mapped : parts;
}
