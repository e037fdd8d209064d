import { assertEquals, assertThrows } from "@std/assert";
import { HTTPError } from "../../../src/errors.ts";
import { parseJson, stringify } from "../../../src/http/json.ts";

Deno.test("What a client sends is parsed, or refused with 400 and no word of it", () => {
  assertEquals(parseJson('{"a":[1,null]}', new Headers()), { a: [1, null] });
  for (const text of ["", "{", "SECRET", '"SECRET', "1 SECRET"]) {
    const error = assertThrows(() => parseJson(text, new Headers()), HTTPError);
    assertEquals([error.status, JSON.stringify(error.toProblem()).includes("SECRET")], [400, false]);
    assertEquals(error.cause, undefined);
  }
});

Deno.test("A bigint is written as a string of digits, wherever it stands", () => {
  assertEquals(stringify(5n), '"5"');
  assertEquals(stringify({ a: [-(10n ** 30n)], b: { c: 0n } }), `{"a":["-1${"0".repeat(30)}"],"b":{"c":"0"}}`);
  assertEquals(stringify({ toJSON: () => 7n }), '"7"');
});

Deno.test("All else is written as JSON.stringify writes it", () => {
  for (const value of [null, 0, -0, NaN, "", "\u2028\ud800", [undefined], { a: undefined }, new Date(0), new Map()]) {
    assertEquals(stringify(value), JSON.stringify(value));
  }
});

Deno.test("A value without a JSON form is a TypeError, and an error of the application's own stays itself", () => {
  for (const value of [undefined, () => 1, Symbol("x")]) assertThrows(() => stringify(value), TypeError);
  const circle: unknown[] = [5n];
  circle.push(circle);
  assertThrows(() => stringify(circle), TypeError);
  const failing = {
    toJSON() {
      throw new RangeError("mine");
    },
  };
  assertThrows(() => stringify(failing), RangeError, "mine");
});
