import { assert, assertEquals, assertThrows } from "@std/assert";
import { HTTPError } from "../../../src/base/errors.ts";
import { pickQuery } from "../../../src/http/query.ts";
import { Random } from "../support/random.ts";

const KEYS = ["q", "a b", "é", "constructor", "__proto__", ""];
const SLOTS = new Map(KEYS.map((key, index) => [key, index]));

function listOf(text: string, key: string): string[] {
  const value = pickQuery(text, SLOTS, 1_000)[SLOTS.get(key)!];
  return value === undefined ? [] : typeof value === "string" ? [value] : value;
}

/** Whether the value of a declared key has an invalid escape. */
function hasBrokenValue(text: string): boolean {
  return text.split("&").some((pair) => {
    const [key = "", ...rest] = pair.split("=");
    if (pair === "") return false;
    try {
      if (!SLOTS.has(decodeURIComponent(key.replaceAll("+", " ")))) return false;
    } catch {
      return false;
    }
    try {
      decodeURIComponent(rest.join("="));
      return false;
    } catch {
      return true;
    }
  });
}

Deno.test("Random queries are read as URLSearchParams reads them", () => {
  const random = new Random(42);
  const parts = [
    "q",
    "a",
    "b",
    "é",
    "&",
    "&",
    "=",
    "=",
    "+",
    "%20",
    "%C3%A9",
    "%",
    "%zz",
    "%ff",
    "%71",
    "%3D",
    "%26",
    "%2B",
  ];
  parts.push("constructor", "__proto__", "a+b", "a%20b", ";", "?", "/", "😀", "%F0%9F%98%80", "q=1", "&q=");
  let broken = 0;
  for (let round = 0; round < 20_000; round++) {
    const text = random.list(10, () => random.pick(parts)).join("");
    if (hasBrokenValue(text)) {
      broken++;
      assertEquals(assertThrows(() => pickQuery(text, SLOTS, 1_000), HTTPError, undefined, text).status, 400);
      continue;
    }
    const params = new URLSearchParams(`?${text}`);
    for (const key of KEYS) assertEquals(listOf(text, key), params.getAll(key), `"${key}" of "${text}"`);
  }
  assert(broken > 500, String(broken));
});

Deno.test("Undeclared keys count too, and one too many is refused", () => {
  assertEquals(pickQuery("a=1&b=2&q=3", SLOTS, 3)[0], "3");
  assertEquals(pickQuery("a=1&&&b=2&q=3&", SLOTS, 3)[0], "3");
  assertThrows(() => pickQuery("a=1&b=2&q=3&d", SLOTS, 3), HTTPError);
});

Deno.test("Reading a query takes linear time", () => {
  const long = "&".repeat(200_000) + "q=" + "+".repeat(200_000);
  assertEquals((pickQuery(long, SLOTS, 1_000)[0] as string).length, 200_000);
  const values = pickQuery("q=1&".repeat(60_000), SLOTS, 100_000)[0];
  assertEquals(values?.length, 60_000);
});

Deno.test("Many keys without values are read in one pass", () => {
  const quickest = (text: string): number =>
    Math.min(...Array.from({ length: 5 }, () => {
      const began = performance.now();
      assertEquals(pickQuery(text, SLOTS, Infinity)[SLOTS.get("q")!], "1");
      return performance.now() - began;
    }));
  const valued = quickest(`${"a=&".repeat(100_000)}q=1`);
  const bare = quickest(`${"a&".repeat(100_000)}q=1`);
  assert(bare < 10 * valued + 5, `${valued} ms with values, ${bare} ms without`);
});
