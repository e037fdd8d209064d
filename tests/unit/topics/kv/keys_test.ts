// The bytes of a write to a log.

import { assertEquals, assertThrows } from "@std/assert";
import { countBytes } from "../../../../src/json_data.ts";
import { decodeRecord, encodeRecord, measureRecord } from "../../../../src/topics/kv/keys.ts";

function messageOf(data: string, type?: string) {
  return { id: undefined, type, data, bytes: countBytes(data) };
}

Deno.test("A record gives its messages back, whatever their texts", () => {
  const messages = [
    messageOf('"é€😀"', "日本"),
    messageOf("1"),
    messageOf('"\ud800"'),
    messageOf(`"${"x".repeat(70_000)}"`),
  ];
  const bytes = encodeRecord({ time: 1.5, messages });
  const read = messages.map(({ type, data, bytes }) => ({ type, data: data.replace("\ud800", "\ufffd"), bytes }));
  assertEquals(decodeRecord(bytes), { time: 1.5, messages: read });
  const sum = messages.reduce((sum, { bytes }) => sum + bytes, 0);
  assertEquals(measureRecord(bytes), { time: 1.5, count: 4, bytes: sum });
});

Deno.test("A record of a message that has more bytes than it says is not made: a part of another one would be cut off", () => {
  const messages = [{ ...messageOf('"é"'), bytes: 3 }, messageOf("1")];
  assertThrows(() => encodeRecord({ time: 0, messages }), TypeError, "more bytes than it was said to have");
});
