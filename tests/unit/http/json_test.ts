import { assertEquals, assertThrows } from "@std/assert";
import { HTTPError } from "../../../src/base/errors.ts";
import { isJson, mediaTypeOf, parseJson, stringify } from "../../../src/http/json.ts";
import { DEFAULT_LIMITS } from "../../../src/http/limits.ts";

Deno.test("The media type has no parameters and is in lower case", () => {
  const table: [header: string, type: string][] = [
    ["text/plain", "text/plain"],
    ["Text/HTML; Charset=UTF-8", "text/html"],
    [" multipart/form-data ;boundary=x", "multipart/form-data"],
    ["", ""],
    [";", ""],
  ];
  for (const [header, type] of table) assertEquals(mediaTypeOf(new Headers({ "content-type": header })), type, header);
  assertEquals(mediaTypeOf(new Headers()), "");
});

Deno.test("application/json and application/*+json in UTF-8 are JSON", () => {
  const json = [
    "application/json",
    "APPLICATION/JSON",
    " application/json ",
    "application/json;charset=utf-8",
    'application/json; Charset="UTF-8"',
    "application/json; charset=utf8",
    "application/json; odata=verbose",
    "application/ld+json",
    "application/vnd.api+json; version=1; charset=utf-8",
  ];
  const other = [
    "",
    "json",
    "text/json",
    "application/jsonl",
    "application/json-seq",
    "application/+json",
    "application/json+xml",
    "application/json/x",
    "application/x+json+y",
    "application/json, application/json",
    "application/json; charset=utf-16",
    "application/json; version=1; charset=latin1",
    "application/json; charset=",
    "text/plain; a=application/json",
    "model/gltf+json",
  ];
  for (const type of json) assertEquals(isJson(type), true, type);
  for (const type of other) assertEquals(isJson(type), false, type);
  assertEquals(isJson(null), false);
});

Deno.test("JSON is parsed, or refused with a 400 that does not repeat it", () => {
  const request = new Request("http://localhost");
  assertEquals(parseJson('{"a":[1,null]}', request, DEFAULT_LIMITS), { a: [1, null] });
  for (const text of ["", "{", "SECRET", '"SECRET', "1 SECRET"]) {
    const error = assertThrows(() => parseJson(text, request, DEFAULT_LIMITS), HTTPError);
    assertEquals([error.status, JSON.stringify(error.toProblem()).includes("SECRET")], [400, false]);
    assertEquals(error.cause, undefined);
  }
});

Deno.test("A bigint anywhere in a value is written as a string of digits", () => {
  assertEquals(stringify(5n), '"5"');
  assertEquals(stringify({ a: [-(10n ** 30n)], b: { c: 0n } }), `{"a":["-1${"0".repeat(30)}"],"b":{"c":"0"}}`);
  assertEquals(stringify({ toJSON: () => 7n }), '"7"');
});

Deno.test("Other values are written as by JSON.stringify", () => {
  for (const value of [null, 0, -0, NaN, "", "\u2028\ud800", [undefined], { a: undefined }, new Date(0), new Map()]) {
    assertEquals(stringify(value), JSON.stringify(value));
  }
});

Deno.test("A value without a JSON form is a TypeError, and an error of toJSON stays the same", () => {
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
