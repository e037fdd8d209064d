import { assert, assertEquals } from "@std/assert";
import { findOverflows } from "../../../src/schema/coerce_json.ts";

function pathsIn(text: string): unknown[] {
  return findOverflows(text, JSON.parse(text)).map(({ path }) => path.join("."));
}

Deno.test("A number that no double can hold is found, however it is written", () => {
  for (const number of ["1e309", "-1E+400", "1e0000000309", `1${"0".repeat(309)}`, `${"9".repeat(250)}.5e99`]) {
    assertEquals(pathsIn(number), [""]);
    assertEquals(pathsIn(`{"a":[0,${number},"b"],"c":${" ".repeat(190)}${number}}`), ["a.1", "c"]);
  }
});

Deno.test("What only looks like such a number is none", () => {
  const texts = [
    "1e308",
    "1e-999",
    "0e999",
    '"1e999"',
    `{"1e999":"${"9".repeat(400)}"}`,
    `0.${"1".repeat(400)}`,
    "null",
  ];
  for (const text of texts) assertEquals(pathsIn(text), []);
});

Deno.test("Of many such numbers in a large or deep value only the first is listed", () => {
  assertEquals(pathsIn("[1e999,1e999]"), ["0", "1"]);
  assertEquals(pathsIn(`["${"x".repeat(70_000)}",1e999,1e999]`), ["1"]);
  assertEquals(pathsIn(`${"[".repeat(40)}1e999,1e999${"]".repeat(40)}`), [Array(40).fill("0").join(".")]);
});

Deno.test("The search costs no more for a value that is nested deeply", () => {
  const zeros = "0,".repeat(200_000);
  const quickest = (depth: number): number => {
    const text = `${"[".repeat(depth)}${zeros}1e999${"]".repeat(depth)}`;
    const value = JSON.parse(text);
    return Math.min(...Array.from({ length: 5 }, () => {
      const began = performance.now();
      assertEquals(findOverflows(text, value).map(({ path }) => path.length), [depth]);
      return performance.now() - began;
    }));
  };
  const [flat, deep] = [quickest(1), quickest(1_000)];
  assert(deep < 20 * flat + 5, `${flat} ms flat, ${deep} ms deep`);
});
