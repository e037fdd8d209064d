// Ways to break the source of a check. A comparison of checks with valibot must notice each.

import { type Check, CheckSource, makeCheck } from "../../../../src/schema/check.ts";
import type { SchemaNode } from "../../../../src/schema/schema.ts";
import type { Random } from "../../support/random.ts";

/** The fault of a check without such a line. */
const LINES: readonly (readonly [fault: string, line: RegExp])[] = [
  ["a kind is not looked at", /^if \(!\((?:typeof|Array\.isArray|\w+ === null).* return INVALID;$/],
  ["a value of a list is not looked at", /^if \(!\(values\[\d+\]\.has.* return INVALID;$/],
  ["a length is not held", /^if \(!\(!\(\w+\.length .* return INVALID;$/],
  ["a bound is not held", /^if \(!\(\w+ [<>]= .* return INVALID;$/],
  ["a number need not be whole", /^if \(!\(Number\.isInteger.* return INVALID;$/],
  ["a pattern is not looked at", /^if \(!\(values\[\d+\]\.test.* return INVALID;$/],
  ["a key can be missing", /^if \(\w+ === undefined && !\(.* in \w+\)\) return INVALID;$/],
  ["a key gets lost", /^\w+\[".*"\] = .*;$/],
  ["an item gets lost", /^\w+\.push\(.*\);$/],
  ["a default is not given", /^if \(.*\) \w+ = values\[\d+\](?:\(\))?;$/],
];

/** The faults that can be put into a check. */
export const FAULTS: readonly string[] = LINES.map(([fault]) => fault);

/**
 * The check of a schema without one of its lines; undefined if no line matters. A check that only
 * refuses too much is not a fault: valibot decides about what a check refuses.
 */
export function tamperedCheck(random: Random, node: SchemaNode): { fault: string; check: Check } | undefined {
  const { body, values } = CheckSource.of(node);
  const lines = body.split("\n");
  const found = LINES.filter(([, pattern]) => lines.some((line) => pattern.test(line)));
  if (found.length === 0) return undefined;
  const [fault, pattern] = random.pick(found);
  const place = random.pick([...lines.keys()].filter((index) => pattern.test(lines[index]!)));
  return { fault, check: makeCheck({ body: lines.toSpliced(place, 1).join("\n"), values }) };
}
