import { assert, assertEquals } from "@std/assert";
import { literalPattern, patternOf } from "../../../../src/describe/json_schema/pattern.ts";
import * as v from "valibot";
import { Random } from "../../support/random.ts";

Deno.test("A pattern says without flags what the expression says with them", () => {
  const patterns: readonly (readonly [RegExp, string | undefined])[] = [
    [/^[a-z]+$/, "^[a-z]+$"],
    [/^[a-z]+$/i, "^[a-zA-Z]+$"],
    [/^a[^t-z]$/iu, "^[aA][^t-zT-Z]$"],
    [/^.$/s, "^[\\s\\S]$"],
    [/a\-b\_\@\/[\w\-.]/, "a-b_@/[\\w\\-.]"],
    [/a{|}]/, "a\\{|\\}\\]"],
    [/(?<year>\d{4})-\k<year>/, "(?<year>\\d{4})-\\k<year>"],
    [/^x$/g, "^x$"],
    // Another case of K and of S is beyond ASCII there, and is left out.
    [/^k$/iu, "^[kK]$"],
    [/[^a-z]/iu, "[^a-zA-Z]"],
    // What cannot be said is not said.
    [/^x$/m, undefined],
    [/[\p{L}--[a-z]]/v, undefined],
    [/ä/i, undefined],
    [/(a)\1/i, undefined],
    [/\p{Lu}/iu, undefined],
    [/\w/iu, undefined],
    [/\b/iu, undefined],
    [/[😀]/, undefined],
    [new RegExp("\\u{45}"), undefined],
    [new RegExp("\\1"), undefined],
  ];
  for (const [expression, pattern] of patterns) assertEquals(patternOf(expression), pattern, String(expression));
});

Deno.test("The expressions that valibot exports have patterns in plain ASCII", () => {
  const expressions = Object.entries(v).filter(([name]) => name.endsWith("_REGEX"));
  assert(expressions.length >= 30);
  const patterns = expressions.map(([name, expression]) => [name, patternOf(expression as unknown as RegExp)] as const);
  assertEquals(patterns.filter(([, pattern]) => pattern === undefined).map(([name]) => name), []);
  assertEquals(patterns.filter(([, pattern]) => /[^\x20-\x7e]/.test(pattern ?? "")).map(([name]) => name), []);
});

Deno.test("A pattern matches the very texts that the expression matches, for random ones", () => {
  const random = new Random(45);
  const atoms = [
    "a",
    "k",
    "S",
    "z",
    "é",
    "\\-",
    "\\.",
    "\\d",
    "\\w",
    "\\s",
    "\\S",
    ".",
    "-",
    "\\x41",
    "\\u017f",
    "\\/",
    "_",
  ];
  const items = ["a-c", "K", "q-t", "\\w", "\\d", "-", "\\]", "é", "\\u212a", "^", "0-9", "A-Z", "."];
  const chars = [
    "a",
    "B",
    "k",
    "K",
    "s",
    "S",
    "Z",
    "é",
    "É",
    "-",
    ".",
    "5",
    " ",
    "\n",
    "_",
    "]",
    "^",
    "/",
  ];
  const flags = ["", "i", "u", "iu", "s", "is", "isu"];
  const piece = (): string => {
    if (random.oneIn(4)) return `[${random.pick(["", "^"])}${random.list(3, () => random.pick(items)).join("")}]`;
    if (random.oneIn(8)) return `(?:${piece()}|${piece()})`;
    return random.pick(atoms) + random.pick(["", "", "", "?", "+", "{2}"]);
  };
  let [told, compared] = [0, 0];
  for (let round = 0; round < 3_000; round++) {
    const expression = compile(`^${random.list(3, piece).join("")}$`, random.pick(flags));
    if (!expression) continue;
    const pattern = patternOf(expression);
    if (pattern === undefined) continue;
    told++;
    for (let turn = 0; turn < 10; turn++) {
      const text = random.list(4, () => random.pick(chars)).join("");
      assertEquals(new RegExp(pattern, "u").test(text), expression.test(text), `${expression} as ${pattern}: ${text}`);
      compared++;
    }
  }
  assert(told > 1_500 && compared > 15_000, `${told} expressions, ${compared} texts`);
});

Deno.test("A text is found as it stands, whatever characters it has", () => {
  const text = "a.b*c[d]\\^$(e)|{f}+?/-";
  assert(new RegExp(literalPattern(text), "u").test(`x${text}x`));
  assertEquals(new RegExp(literalPattern("a.b"), "u").test("aXb"), false);
});

/** The expression; none where the random source is none. */
function compile(source: string, flags: string): RegExp | undefined {
  try {
    return new RegExp(source, flags);
  } catch {
    return undefined;
  }
}
