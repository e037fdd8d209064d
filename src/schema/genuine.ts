/** Tells what valibot's own code runs, of the version that webfw knows, from what some wrapper or another version does. */
import * as v from "valibot";
import type { PipeAction, SchemaNode } from "./schema.ts";

/** A step of a pipe, with its inside. */
export interface ActionNode extends PipeAction {
  readonly type: string;
  readonly requirement?: unknown;
  readonly "~run": unknown;
}

/** One of each kind that checks are compiled from, or that has another meaning in JSON Schema. */
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
  v.length(0),
  v.isoDate(),
  v.isoTimestamp(),
  v.minValue(0),
  v.maxValue(0),
  v.regex(/x/),
].map((part) => [part.type, String(part["~run"])]));
const PIPE = String(v.pipe(v.string())["~run"]);

/** Whether a schema or action is run by valibot's own code. */
export function isGenuine(part: SchemaNode | ActionNode): boolean {
  const code = String(part["~run"]);
  return code === ("pipe" in part && part.pipe ? PIPE : KNOWN.get(part.type));
}
