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
