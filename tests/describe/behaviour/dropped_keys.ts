// Keys that are taken and dropped unseen.

import { pathsOf, withoutPart } from "./parts.ts";
import type { Schema, Schemas, Verdict } from "./schemas.ts";

/**
 * valibot keeps these out of objects that hold whatever keys a client chose, so that none reaches a
 * prototype. It does not look at their values, which JSON Schema cannot tell.
 */
const DROPPED: ReadonlySet<unknown> = new Set(["__proto__", "prototype", "constructor"]);

/**
 * What the document says of a value. It leaves open what one of those keys holds, where the value
 * is valid without the key.
 */
export function verdictWithout(value: unknown, schema: Schema, schemas: Schemas): Verdict {
  const verdict = schemas.verdict(schema, value);
  if (verdict !== "invalid") return verdict;
  const places = pathsOf(value).filter((path) => DROPPED.has(path.at(-1)));
  return places.some((path) => schemas.verdict(schema, withoutPart(value, path)) !== "invalid") ? "open" : "invalid";
}
