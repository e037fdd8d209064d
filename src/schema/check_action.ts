/** Compiles the steps of pipes that are no schemas, and tells valibot's own code from any other. */
import * as v from "valibot";
import type { Dataset, PipeAction, RunConfig, SchemaNode } from "./schema.ts";

interface ActionNode extends PipeAction {
  readonly type: string;
  readonly requirement?: unknown;
  readonly "~run": (dataset: Dataset, config: RunConfig) => Dataset;
}

const CONFIG: RunConfig = { lang: undefined, message: undefined, abortEarly: false, abortPipeEarly: undefined };

/** One of each kind, to compare others with. */
const KNOWN = new Map<string, string>([
  v.string(),
  v.number(),
  v.boolean(),
  v.bigint(),
  v.null(),
  v.any(),
  v.unknown(),
  v.picklist([]),
  v.enum({}),
  v.object({}),
  v.array(v.any()),
  v.union([]),
  v.optional(v.any()),
  v.undefinedable(v.any()),
  v.nullable(v.any()),
  v.nullish(v.any()),
  v.exactOptional(v.any()),
  v.integer(),
  v.minLength(0),
  v.maxLength(0),
  v.minValue(0),
  v.maxValue(0),
  v.regex(/x/),
].map((part) => [part.type, String(part["~run"])]));
const PIPE = String(v.pipe(v.string())["~run"]);

/** Whether a schema or action is run by valibot's own code, and not by some wrapper's. */
export function isGenuine(part: SchemaNode | ActionNode): boolean {
  const code = String(part["~run"]);
  return code === ("pipe" in part && part.pipe ? PIPE : KNOWN.get(part.type));
}

/**
 * Compiles a step of a pipe.
 *
 * @param step A validation or transformation.
 * @param invalid What to give for a value that is not valid.
 */
export function compileAction(step: PipeAction, invalid: symbol): (value: unknown) => unknown {
  const action = step as ActionNode;
  const test = isGenuine(action) ? testOf(action) : undefined;
  if (test) return (value) => test(value) ? value : invalid;
  return (value) => {
    const dataset = action["~run"]({ typed: true, value }, CONFIG);
    return dataset.issues ? invalid : dataset.value;
  };
}

function testOf({ type, requirement }: ActionNode): ((value: unknown) => boolean) | undefined {
  const bound = requirement as number;
  switch (type) {
    case "integer":
      return Number.isInteger;
    case "min_length":
      return (value) => (value as string).length >= bound;
    case "max_length":
      return (value) => (value as string).length <= bound;
    case "min_value":
      return (value) => (value as number) >= bound;
    case "max_value":
      return (value) => (value as number) <= bound;
    case "regex":
      return (value) => (requirement as RegExp).test(value as string);
    default:
      return undefined;
  }
}
