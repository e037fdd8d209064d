// Keys that are taken and dropped unseen.

import { pathsOf, withoutPart } from "./parts.ts";
import type { Schema, Schemas, Verdict } from "./schemas.ts";

/**
 * valibot drops these keys from objects with arbitrary keys, so that none reaches a prototype. It
 * does not look at their values, which JSON Schema cannot express.
 */
const DROPPED: ReadonlySet<unknown> = new Set(["__proto__", "prototype", "constructor"]);

/**
 * The document's verdict on a value. It is open if the value is valid without one of these keys.
 */
export function verdictWithout(value: unknown, schema: Schema, schemas: Schemas): Verdict {
  const verdict = schemas.verdict(schema, value);
  if (verdict !== "invalid") return verdict;
  const places = pathsOf(value).filter((path) => DROPPED.has(path.at(-1)));
  return places.some((path) => schemas.verdict(schema, withoutPart(value, path)) !== "invalid") ? "open" : "invalid";
}
