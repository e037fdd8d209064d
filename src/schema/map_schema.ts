/** Maps a schema to one with other parts. */
import * as v from "valibot";
import { describeMissingKeys } from "./issues.ts";
import { type Dataset, fallsBack, type PipeAction, resolveLazy, type RunConfig, type SchemaNode } from "./schema.ts";
import { toFiniteNumber, toStandardCheck } from "./standard_check.ts";

type MapPart = (part: SchemaNode) => SchemaNode;

/**
 * Returns the same object if no part changes; otherwise the constructor makes a new one, because
 * many schemas close over their parts.
 *
 * @param map Maps a part that gets input.
 * @param mapResult Maps a part of a pipe that gets the result of a transformation.
 */
export function mapSchema(node: SchemaNode, map: MapPart, mapResult: MapPart = withStandardChecks): SchemaNode {
  if (node.pipe) return mapPipe(node, node.pipe, map, mapResult);
  const rebuilt = rebuild(node, map);
  return rebuilt === node ? node : keepFallback(node, rebuilt);
}

interface Preprocessing {
  readonly node: SchemaNode;
  readonly convert: (value: unknown) => unknown;
}

// No property of schemas: a pipe copies those of its first step.
const preprocessings = new WeakMap<SchemaNode, Preprocessing>();

/** Converts the input. Missing keys of an object are reported with their own messages. */
export function preprocess(node: SchemaNode, convert: Preprocessing["convert"]): SchemaNode {
  const describe = (dataset: Dataset): Dataset => describeMissingKeys(node, dataset);
  const run: SchemaNode["~run"] = (dataset, config) => {
    dataset.value = convert(dataset.value);
    return node["~run"](dataset, config);
  };
  const describingRun: SchemaNode["~run"] = (dataset, config) => {
    const result = run(dataset, config);
    return node.async ? (result as Promise<Dataset>).then(describe) : describe(result as Dataset);
  };
  const preprocessed: SchemaNode = { ...node, "~run": node.entries ? describingRun : run };
  preprocessings.set(preprocessed, { node, convert });
  return preprocessed;
}

export function preprocessingOf(node: SchemaNode): Preprocessing | undefined {
  return preprocessings.get(node);
}

// A cache: a lazy schema maps its target again for each value.
const standards = new WeakMap<SchemaNode, SchemaNode>();

/** The same object if no check changes. Coerced schemas have these checks already. */
export function withStandardChecks(node: SchemaNode): SchemaNode {
  return standards.getOrInsertComputed(node, () => mapSchema(node, withStandardChecks));
}

const ofReplies = new WeakMap<SchemaNode, SchemaNode>();

/** With {@linkcode withStandardChecks}, and only finite numbers. */
export function toReplySchema(node: SchemaNode): SchemaNode {
  return ofReplies.getOrInsertComputed(node, () => {
    return node.type === "number" && !node.pipe ? toFiniteNumber(node) : mapSchema(node, toReplySchema, toReplySchema);
  });
}

/** A schema after a transformation gets its result, not input. */
function mapPipe(
  node: SchemaNode,
  pipe: readonly (SchemaNode | PipeAction)[],
  map: MapPart,
  mapResult: MapPart,
): SchemaNode {
  let raw = true;
  const steps = pipe.map((step) => {
    if (step.kind === "transformation") raw = false;
    if (step.kind === "validation") return toStandardCheck(step as PipeAction, node);
    if (step.kind !== "schema") return step;
    const mapped = (raw ? map : mapResult)(step as SchemaNode);
    if (transforms(step as SchemaNode)) raw = false;
    return mapped;
  });
  if (steps.every((step, index) => step === pipe[index])) return node;
  const build = (node.async ? v.pipeAsync : v.pipe) as unknown as (...steps: unknown[]) => SchemaNode;
  return keepFallback(node, build(...steps));
}

function transforms(node: SchemaNode): boolean {
  return node.pipe?.some((step) =>
    step.kind === "transformation" ||
    (step.kind === "schema" && step !== node && transforms(step as SchemaNode))
  ) ?? false;
}

/** `v.fallback` closes over the schema. */
export function keepFallback(node: SchemaNode, rebuilt: SchemaNode): SchemaNode {
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
      return remake(node, [node.entries], [mapRecord(node.entries, map)]);
    case "object_with_rest":
      return remake(node, [node.entries, node.rest], [mapRecord(node.entries, map), mapOne(node.rest, map)]);
    case "array":
      return remake(node, [node.item], [mapOne(node.item, map)]);
    case "tuple":
    case "loose_tuple":
    case "strict_tuple":
      return remake(node, [node.items], [mapList(node.items, map)]);
    case "tuple_with_rest":
      return remake(node, [node.items, node.rest], [mapList(node.items, map), mapOne(node.rest, map)]);
    case "record":
      return remake(node, [node.key, node.value], [
        withStandardChecks(node.key as SchemaNode),
        mapOne(node.value, map),
      ]);
    case "union":
    case "intersect":
      return remake(node, [node.options], [mapList(node.options as SchemaNode[], map)]);
    case "variant":
      return remake(node, [node.key, node.options], [node.key, mapList(node.options as SchemaNode[], map)]);
    case "optional":
    case "nullable":
    case "nullish":
    case "undefinedable":
    case "exact_optional": {
      const wrapped = mapOne(node.wrapped, map);
      return wrapped === node.wrapped ? node : node.reference(wrapped, node.default);
    }
    case "lazy":
      return remakeLazy(node, map);
    case "non_optional":
    case "non_nullable":
    case "non_nullish":
      return remake(node, [node.wrapped], [mapOne(node.wrapped, map)]);
    default:
      return node;
  }
}

function remake(node: SchemaNode, before: readonly unknown[], after: readonly unknown[]): SchemaNode {
  return after.every((part, index) => part === before[index]) ? node : node.reference(...after, node.message);
}

/** Always a new schema: wrappers such as `v.cache` close over the getter. */
function remakeLazy(node: SchemaNode, map: MapPart): SchemaNode {
  const mapped =
    (node.async
      ? v.lazyAsync(async (input) => map(await resolveLazy(node, input)) as never)
      : v.lazy((input) => map(resolveLazy(node, input) as SchemaNode) as never)) as unknown as SchemaNode;
  return { ...mapped, "~run": (dataset, config) => runLazy(mapped, dataset, config) };
}

function mapOne(part: SchemaNode | undefined, map: MapPart): SchemaNode | undefined {
  return part && map(part);
}

function mapList(parts: readonly SchemaNode[] | undefined, map: MapPart): readonly SchemaNode[] | undefined {
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

// A long run caches the results of lazy schemas. Without, the work would double with each level of
// a recursion through unions, which try each option on one value.

type Result = Dataset | Promise<Dataset>;

/** Counts every 64th call: counting costs as much as a small schema. */
const SAMPLING = 64;
const MAX_COUNTED = 16;
/** Per run: intersections would double repeated issues with each level. */
const MAX_REPEATED = 1_000;

let calls = 0;
/** Each run has a configuration object of its own. */
const runs = new WeakMap<RunConfig, Run>();
let longRun: RunConfig | undefined;

class Run {
  countedCalls = 0;
  repeatedIssues = 0;
  readonly #results = new WeakMap<SchemaNode, WeakMap<object, Result>>();

  of(node: SchemaNode): WeakMap<object, Result> {
    return this.#results.getOrInsertComputed(node, () => new WeakMap());
  }

  repeat(dataset: Dataset): Dataset {
    const { issues } = dataset;
    if (!issues) return copyOf(dataset);
    const isOften = this.repeatedIssues >= MAX_REPEATED;
    this.repeatedIssues += issues.length;
    return copyOf(isOften ? { ...dataset, issues: [issues[0]] } : dataset);
  }
}

/** In a long run, once for each object. */
function runLazy(node: SchemaNode, dataset: Dataset, config: RunConfig): Result {
  const isSampled = ++calls % SAMPLING === 0;
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
  return runs.getOrInsertComputed(config, () => new Run());
}

function isLong(config: RunConfig): boolean {
  return ++runOf(config).countedCalls > MAX_COUNTED;
}

function copyLater(result: Promise<Dataset>): Promise<Dataset> {
  const copy = result.then(copyOf);
  // The first caller handles the rejection.
  copy.catch(() => {});
  return copy;
}

/** valibot extends the paths of issues afterwards. */
function copyOf({ typed, value, issues }: Dataset): Dataset {
  const copy: Dataset = { value };
  if (typed !== undefined) copy.typed = typed;
  if (issues) {
    copy.issues = issues.map((issue) => ({ ...issue, ...(issue.path && { path: [...issue.path] }) })) as never;
  }
  return copy;
}
