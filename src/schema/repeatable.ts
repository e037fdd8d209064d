/** Schemas that take what they gave, also after it was JSON. */
import { lazyTarget, nodeOf, partsOf, type Schema, type SchemaNode } from "./schema.ts";

/** The kinds whose values stay what they are as JSON. */
const JSON_KINDS: ReadonlySet<string> = new Set(
  ("any array boolean enum exact_optional intersect lazy literal loose_object loose_tuple never non_nullable " +
    "non_nullish non_optional null nullable nullish number object object_with_rest optional picklist record " +
    "strict_object strict_tuple string tuple tuple_with_rest undefined undefinedable union unknown variant void")
    .split(" "),
);

/** The transformations that change nothing when they run again. */
const REPEATABLE: ReadonlySet<string> = new Set(
  "brand flavor normalize readonly to_lower_case to_upper_case trim trim_end trim_start".split(" "),
);

/** Whether a schema accepts its own results, also after they were JSON, and leaves them as they are. */
export function givesWhatItTakes(schema: Schema): boolean {
  const seen = new Set<SchemaNode>();
  const isIn = (node: SchemaNode): boolean => {
    if (seen.has(node)) return true;
    seen.add(node);
    const { pipe = [], type, literal, options = [] } = node;
    if (!JSON_KINDS.has(type) || [literal, ...options].some((one) => typeof one === "bigint")) return false;
    if (pipe.some((step) => step.kind === "transformation" && !REPEATABLE.has(step.type))) return false;
    const target = type === "lazy" ? lazyTarget(node) : undefined;
    return type === "lazy" && !pipe.length ? target !== undefined && isIn(target) : partsOf(node).every(isIn);
  };
  return isIn(nodeOf(schema));
}
