/**
 * Remembers what lazy schemas made of the parts of a value. A union tries each part by one option after the other, and so do
 * the unions within it: without a memory, the work would double with each level of a recursive schema.
 */
import type { RunConfig } from "./run_config.ts";
import type { Dataset, SchemaNode } from "./schema.ts";

/** Fewer runs take less time than remembering them. */
const MIN_RUNS = 1000;

interface Memory {
  runs: number;
  readonly results: Map<SchemaNode, WeakMap<object, Dataset | Promise<Dataset>>>;
}

/** Each run has a configuration of its own. */
const memories = new WeakMap<RunConfig, Memory>();

/**
 * Runs a lazy schema, once for each part of a value.
 *
 * @param node The schema.
 * @param dataset The part.
 * @param config That of the run.
 */
export function runLazy(node: SchemaNode, dataset: Dataset, config: RunConfig): Dataset | Promise<Dataset> {
  const { value } = dataset;
  if (typeof value !== "object" || value === null) return node["~run"](dataset, config);
  const memory = memories.get(config) ?? { runs: 0, results: new Map() };
  if (++memory.runs === 1) memories.set(config, memory);
  if (memory.runs <= MIN_RUNS) return node["~run"](dataset, config);
  const results = memory.results.get(node) ?? new WeakMap<object, Dataset | Promise<Dataset>>();
  memory.results.set(node, results);
  const known = results.get(value);
  if (known) return known instanceof Promise ? known.then(copyOf) : copyOf(known);
  const result = node["~run"](dataset, config);
  results.set(value, result instanceof Promise ? copyLater(result) : copyOf(result));
  return result;
}

function copyLater(result: Promise<Dataset>): Promise<Dataset> {
  const copy = result.then(copyOf);
  // Who asked first is told of a failure.
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
