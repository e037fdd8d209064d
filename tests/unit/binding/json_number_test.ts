import { assertEquals } from "@std/assert";
import { findOverflows } from "../../../src/binding/json_number.ts";

function pathsIn(text: string): unknown[] {
  return findOverflows(text, JSON.parse(text), "all").map(({ path }) => path.join("."));
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

Deno.test("Of many such numbers the first is told where that is asked", () => {
  const text = "[1e999,1e999]";
  assertEquals(findOverflows(text, JSON.parse(text), "first").map(({ path }) => path), [[0]]);
});
