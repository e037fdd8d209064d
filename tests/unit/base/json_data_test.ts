import { assert, assertEquals, assertThrows } from "@std/assert";
import { countBytes, encodeData } from "../../../src/base/json_data.ts";

Deno.test("A value that JSON would drop or change is refused, with its path", () => {
  class Price {
    value = 3;
  }
  const table: [data: unknown, complaint: string][] = [
    [undefined, "JSON cannot represent the undefined, use"],
    [NaN, "JSON cannot represent the number NaN, use"],
    [-Infinity, "the number -Infinity"],
    [5n, "the bigint"],
    [() => 1, "the function"],
    [Symbol("a"), "the symbol"],
    [{ at: new Date(0) }, 'the Date at "at"'],
    [{ list: [1, { set: new Set() }] }, 'the Set at "list.1.set"'],
    [[1, undefined], 'the undefined at "1"'],
    // deno-lint-ignore no-sparse-arrays -- what a hole becomes
    [[1, , 2], 'the undefined at "1"'],
    [new Price(), "the Price"],
    [{ bytes: new Uint8Array(2) }, 'the Uint8Array at "bytes"'],
    [Object(1), "the Number"],
    [{ toJSON: () => 1 }, "the Object"],
    [Promise.resolve(), "the Promise"],
  ];
  for (const [data, complaint] of table) {
    const error = assertThrows(() => encodeData(data, "keep it"), TypeError, complaint);
    assert(error.message.startsWith("Cannot keep it: "), error.message);
  }
});

/** A list in a list, and so on. */
function nested(depth: number): unknown {
  let list: unknown[] = [];
  for (let level = 1; level < depth; level++) list = [list];
  return list;
}

Deno.test("Data that refers to itself or is nested too deeply is refused", () => {
  const itself: Record<string, unknown> = {};
  itself.itself = itself;
  for (const data of [itself, { list: nested(1_000) }, nested(5_000), nested(100_000)]) {
    assertThrows(() => encodeData(data, "keep it"), TypeError, "it refers to itself or is nested more than 1000 deep");
  }
});

Deno.test("The size of a text is its size in UTF-8", () => {
  const texts = ["", "a", "\u007f\u0080", "é€", "\u07ff\u0800", "\ud7ff\ue000\uffff", "😀a😀", "\ud800", "日本語"];
  const halves = ["\ud800", "a\udc00a", "\ud800\ud800\udc00", "\udc00\ud800", "\ud800a"];
  for (const text of [...texts.map((text) => JSON.stringify(text)), ...halves]) {
    assertEquals(countBytes(text), new TextEncoder().encode(text).length, text);
  }
});
