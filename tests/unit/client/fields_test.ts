// Forms as the client writes them, read as the server does.

import { assert, assertEquals, assertThrows } from "@std/assert";
import { toForm } from "../../../src/client/fields.ts";
import { toTexts } from "../../../src/base/address.ts";
import { FormTree } from "../../../src/schema/form.ts";

/** A form as the server has it without a schema. */
function sentAs(form: object): unknown {
  return FormTree.of(toForm(form, toTexts)).toPlain();
}

/** A random number below a limit; the same ones in each run. */
let seed = 1;
function below(limit: number): number {
  seed = seed * 48_271 % 0x7fffffff;
  return seed % limit;
}

const TEXTS = ["", "a", "é&=+%", "[0]", "null", "two\nlines", "0"];
const NAMES = ["a", "b c", "é", "x.y", "0x", "__proto__"];

/** A random value without what forms cannot hold: empty lists and objects. */
function randomValue(depth: number): unknown {
  const kind = depth === 0 ? 0 : below(3);
  if (kind === 0) return TEXTS[below(TEXTS.length)]!;
  if (kind === 1) return Array.from({ length: 1 + below(12) }, () => randomValue(depth - 1));
  return randomObject(depth - 1);
}

function randomObject(depth: number): object {
  const object = Object.create(null);
  for (let count = 1 + below(3); count > 0; count--) object[NAMES[below(NAMES.length)]!] = randomValue(depth);
  return object;
}

Deno.test("a form comes to the server as it was given, whatever its nesting", () => {
  for (let round = 0; round < 500; round++) {
    const form = randomObject(3);
    assertEquals(JSON.stringify(sentAs(form)), JSON.stringify(form));
  }
});

Deno.test("dates, numbers and null are texts in a form, and undefined is not in it", () => {
  const form = { at: new Date(0), n: 1.5, big: 2n ** 64n, on: true, none: null, left: undefined };
  assertEquals(sentAs(form), {
    __proto__: null,
    at: "1970-01-01T00:00:00.000Z",
    n: "1.5",
    big: "18446744073709551616",
    on: "true",
    none: "null",
  });
});

Deno.test("a form with a Blob at any depth is multipart", () => {
  const deep = toForm({ a: [{ b: new Blob(["x"], { type: "text/csv" }) }], c: "d" }, toTexts);
  assert(deep instanceof FormData);
  const file = deep.get("a[0][b]") as File;
  assertEquals([file.type, deep.get("c")], ["text/csv", "d"]);
  assert(toForm({ a: [{ b: "x" }] }, toTexts) instanceof URLSearchParams);
});

Deno.test("a name that the server would read as another is refused", () => {
  for (const form of [{ "a[b]": 1 }, { a: { "": 1 } }, { a: { "b]": 1 } }]) {
    assertThrows(() => toForm(form, toTexts), TypeError, "Cannot send the form: the name");
  }
});
