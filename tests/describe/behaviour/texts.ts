// Texts that fit a pattern, a format and a length; or hardly do.

import randexp from "npm:randexp@^0.6.1";
import type { Random } from "../../unit/support/random.ts";
import { type Conjunction, patternsOf } from "./conjunction.ts";

/**
 * Makes texts that fit a pattern. The package exports the class itself, which its types do not say.
 */
const RandExp = randexp as unknown as new (pattern: RegExp) => {
  max: number;
  randInt(from: number, to: number): number;
  gen(): string;
};

/** Texts of the formats that documents name. */
const FORMATS: Readonly<Record<string, readonly string[]>> = {
  "date-time": ["2026-11-21T10:20:30Z", "2024-02-29T23:59:59.123Z", "1969-12-31T23:59:59.9+05:30"],
  date: ["2026-11-21", "2024-02-29"],
  time: ["10:20:30Z", "23:59:59+01:00"],
  email: ["ada@example.org", "a.b+c@x-y.example.com"],
  uuid: ["6f1d2b3c-4d5e-4f60-8a7b-9c0d1e2f3a4b"],
  uri: ["https://example.org/a?b=c#d", "mailto:ada@example.org"],
  hostname: ["example.org", "a.b-c.example"],
  ipv4: ["192.0.2.1", "255.255.255.255"],
  ipv6: ["2001:db8::1", "::"],
};

/** Texts that have a meaning for some program on the way. */
const WORDS: readonly string[] = [
  ...["", "a", "Ada", "two words", "x-1", "x_1", "B", "0", "-1", "1.5", "007", "true", "null", "[1]", '{"a":1}'],
  ...["Grüße", "日本", "e\u0301", "%2F", "%zz", "a/b", "a\\b", "a+b", "a&b=c", "c#d?e", "a;b", "a,b", "<b>", "'\"`"],
  ...["__proto__", "constructor", "toString", "9780141439471", "2026-11-21", " padded ", "line\nbreak", "\t"],
];

const ATTEMPTS = 40;

/** A text that fits, or hardly does not. */
export function textFor(schema: Conjunction, random: Random): string {
  const { format, minLength = 0, maxLength } = schema;
  const patterns = patternsOf(schema);
  const longest = maxLength ?? minLength + 200;
  if (patterns.length === 0) return anyText(format, minLength, longest, random);
  const expressions = patterns.map((pattern) => new RegExp(pattern, "u"));
  let text = "";
  for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
    const isMatching = !random.oneIn(4);
    const longestMatch = Math.min(longest, minLength + 40);
    text = isMatching
      ? matching(random.pick(patterns), longestMatch, random)
      : anyText(format, minLength, longest, random);
    const isFit = text.length >= minLength && expressions.every((expression) => expression.test(text));
    if (isFit) break;
  }
  return text;
}

function anyText(format: string | undefined, least: number, most: number, random: Random): string {
  const samples = format === undefined ? undefined : FORMATS[format];
  if (samples) return random.pick(samples);
  const length = random.oneIn(3) ? random.pick([least, most]) : undefined;
  if (length !== undefined) return "é".padEnd(length, "xyz").slice(0, length);
  return random.pick(WORDS).padEnd(least, "x").slice(0, most);
}

/** A text that probably matches a pattern. Patterns with lookaheads may not match it. */
function matching(pattern: string, most: number, random: Random): string {
  const expression = new RandExp(new RegExp(pattern));
  expression.max = random.oneIn(2) ? most : Math.min(most, 3);
  expression.randInt = (from, to) => from + random.below(to - from + 1);
  return expression.gen().slice(0, most);
}
