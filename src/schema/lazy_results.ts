/**
 * Remembers the results of lazy schemas within one run. A union tries each of its options on the
 * same part of a value, and so do the unions within it: without a memory, the work would double
 * with each level of a recursive schema.
 */
import type { RunConfig } from "./run_config.ts";
import type { Dataset, SchemaNode } from "./schema.ts";

type Result = Dataset | Promise<Dataset>;

/** One in so many calls looks at its run: a look costs as much as a small schema. */
const SAMPLING = 64;
/** A run with more looks than this is long. Its results are remembered from then on. */
const MAX_LOOKS = 16;

/** The calls of all runs together. */
let count = 0;
const looks = new WeakMap<RunConfig, number>();
/** The last long run, by its configuration: each run has one of its own. */
let longRun: RunConfig | undefined;
const resultsOf = new WeakMap<RunConfig, WeakMap<SchemaNode, WeakMap<object, Result>>>();

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
  const results = resultsIn(config, node);
  const known = results.get(value);
  if (known) return known instanceof Promise ? known.then(copyOf) : copyOf(known);
  const result = node["~run"](dataset, config);
  results.set(value, result instanceof Promise ? copyLater(result) : copyOf(result));
  return result;
}

function isLong(config: RunConfig): boolean {
  const number = (looks.get(config) ?? 0) + 1;
  looks.set(config, number);
  return number > MAX_LOOKS;
}

function resultsIn(config: RunConfig, node: SchemaNode): WeakMap<object, Result> {
  let ofRun = resultsOf.get(config);
  if (!ofRun) resultsOf.set(config, ofRun = new WeakMap());
  let results = ofRun.get(node);
  if (!results) ofRun.set(node, results = new WeakMap());
  return results;
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
