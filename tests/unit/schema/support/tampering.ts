// Ways to spoil the source of a check: whoever compares checks with valibot has to notice each.

import { type Check, CheckSource, makeCheck } from "../../../../src/schema/check.ts";
import type { SchemaNode } from "../../../../src/schema/schema.ts";
import type { Random } from "../../support/random.ts";

/** What is wrong when such a line is not there. */
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

/** The faults that a check can be given. */
export const FAULTS: readonly string[] = LINES.map(([fault]) => fault);

/**
 * The check of a schema without one of its lines; undefined where it has none that matters. One that only refuses more than it should
 * is not among them: valibot has the last word on what a check refuses.
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
