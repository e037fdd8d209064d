import { assertEquals, assertThrows } from "@std/assert";
import { encodeData } from "../../../src/base/json_data.ts";
import { decodeMessage } from "../../../src/topics/message.ts";
import { Random } from "../support/random.ts";

const CURSOR = "000000000000000000000f";

function roundTrip(data: unknown): unknown {
  const stored = { cursor: CURSOR, type: "kind", data: encodeData(data, "keep it"), bytes: 0, time: 5 };
  return decodeMessage(stored, "01234567").data;
}

Deno.test("A message has an id of incarnation and cursor, its type, its data and its time", () => {
  const stored = { cursor: CURSOR, type: "kind", data: '{"price":3}', bytes: 11, time: 5 };
  assertEquals(decodeMessage(stored, "01234567"), {
    id: `01234567-${CURSOR}`,
    type: "kind",
    data: { price: 3 },
    time: new Date(5),
  });
});

Deno.test("JSON values come back unchanged", () => {
  const values = [null, true, "", "€\u2028\ud800", 0, -1.5, 1e300, [], [[1], [null]], {}, {
    a: { b: [1, { c: null }] },
  }];
  for (const value of values) assertEquals(roundTrip(value), value);
  assertEquals(roundTrip(Object.assign(Object.create(null), { a: 1 })), { a: 1 });
  for (const toJSON of [null, 1, "text", { a: 1 }]) assertEquals(roundTrip({ toJSON }), { toJSON });
  const own = JSON.parse('{"__proto__":{"a":1},"constructor":2}');
  assertEquals(JSON.stringify(roundTrip(own)), JSON.stringify(own));
});

Deno.test("A property that is undefined is left out", () => {
  assertEquals(roundTrip({ a: undefined, b: 1 }), { b: 1 });
});

/** A list in a list, and so on. */
function nested(depth: number): unknown {
  let list: unknown[] = [];
  for (let level = 1; level < depth; level++) list = [list];
  return list;
}

Deno.test("Data with the deepest allowed nesting can be read, also on a used stack", () => {
  const data = nested(1_000);
  const readBelow = (frames: number): unknown => frames === 0 ? roundTrip(data) : readBelow(frames - 1);
  assertEquals(JSON.stringify(readBelow(1_000)), JSON.stringify(data));
});

Deno.test("Any accepted data comes back the same", () => {
  const random = new Random(2);
  const value = (depth: number): unknown => {
    const kind = random.below(depth === 0 ? 5 : 7);
    if (kind === 5) return random.list(4, () => value(depth - 1));
    if (kind === 6) {
      return Object.fromEntries(random.list(4, () => [random.pick(["a", "b", "toString", "1"]), value(depth - 1)]));
    }
    return [null, random.oneIn(2), random.below(1000) / 7, random.pick(["", "a", "\u0000", "😀"]), -1e-9][kind];
  };
  for (let round = 0; round < 500; round++) {
    const data = value(4);
    assertEquals(roundTrip(data), data);
  }
});

Deno.test("Readers cannot change the messages of others", () => {
  const data = roundTrip({ list: [{ a: 1 }] }) as { list: { a: number }[] };
  assertThrows(() => data.list.push({ a: 2 }), TypeError);
  assertThrows(() => data.list[0]!.a = 2, TypeError);
  const message = decodeMessage({ cursor: CURSOR, type: undefined, data: "1", bytes: 1, time: 0 }, "01234567");
  assertThrows(() => Object.assign(message, { id: "another" }), TypeError);
});
