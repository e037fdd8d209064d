/** Schemas that take what they gave. */
import { lazyTarget, nodeOf, partsOf, type Schema, type SchemaNode } from "./schema.ts";

/** The transformations that change nothing when they run again. */
export const REPEATABLE: ReadonlySet<string> = new Set(
  "brand flavor normalize readonly to_lower_case to_upper_case trim trim_end trim_start".split(" "),
);

/** Whether a schema accepts its own results if they are JSON, and leaves them as they are. */
export function givesWhatItTakes(schema: Schema): boolean {
  const seen = new Set<SchemaNode>();
  const isIn = (node: SchemaNode): boolean => {
    if (seen.has(node)) return true;
    seen.add(node);
    const { pipe = [], type } = node;
    if (pipe.some((step) => step.kind === "transformation" && !REPEATABLE.has(step.type))) return false;
    if (type !== "lazy") return partsOf(node).every(isIn);
    const target = lazyTarget(node);
    return target !== undefined && isIn(target);
  };
  return isIn(nodeOf(schema));
}
