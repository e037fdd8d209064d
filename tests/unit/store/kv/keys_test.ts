// The bytes of a write to a log.

import { assertEquals, assertThrows } from "@std/assert";
import { countBytes } from "../../../../src/base/json_data.ts";
import { decodeBatch, encodeBatch, measureBatch } from "../../../../src/store/kv/keys.ts";

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
  const bytes = encodeBatch({ time: 1.5, messages });
  const read = messages.map(({ type, data, bytes }) => ({ type, data: data.replace("\ud800", "\ufffd"), bytes }));
  assertEquals(decodeBatch(bytes), { time: 1.5, messages: read });
  const sum = messages.reduce((sum, { bytes }) => sum + bytes, 0);
  assertEquals(measureBatch(bytes), { time: 1.5, count: 4, bytes: sum });
});

const TRACE = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

/** Reads a record as nodes do that know nothing of traces: by the numbers at its beginning. */
function readTexts(bytes: Uint8Array): string[] {
  const view = new DataView(bytes.buffer);
  const count = view.getUint16(9);
  let text = 11 + 6 * count;
  return Array.from({ length: count }, (_, index) => {
    const [type, data] = [view.getUint16(11 + 6 * index), view.getUint32(13 + 6 * index)];
    const found = new TextDecoder().decode(bytes.subarray(text + type, text + type + data));
    text += type + data;
    return found;
  });
}

Deno.test("A record has the traces of publishers behind all that older nodes read, and nothing where there are none", () => {
  const texts = [messageOf("1", "made"), messageOf('"é"'), messageOf("3")];
  const messages = [{ ...texts[0]!, trace: TRACE }, texts[1]!, { ...texts[2]!, trace: TRACE.replace(/01$/, "00") }];
  const plain = encodeBatch({ time: 1, messages: texts });
  const traced = encodeBatch({ time: 1, messages });
  assertEquals(traced.slice(0, plain.length), plain);
  assertEquals(traced.length, plain.length + 1 + 3 * 25);
  assertEquals(readTexts(traced), ["1", '"é"', "3"]);
  assertEquals(measureBatch(traced), measureBatch(plain));
  const traces = decodeBatch(traced).messages.map(({ trace }) => trace);
  assertEquals(traces, [TRACE, undefined, TRACE.replace(/01$/, "00")]);
  assertEquals(decodeBatch(plain).messages.map(({ trace }) => trace), [undefined, undefined, undefined]);
});

Deno.test("What a later version writes behind the texts is no error", () => {
  const plain = encodeBatch({ time: 1, messages: [messageOf("1")] });
  for (const rest of [[2, 3, 4], [1], [1, ...new Uint8Array(24)], [1, ...new Uint8Array(60)]]) {
    assertEquals(decodeBatch(new Uint8Array([...plain, ...rest])), decodeBatch(plain));
  }
});

Deno.test("A record that would be too large for a value with traces has none", () => {
  const messages = Array.from({ length: 200 }, () => ({ ...messageOf(`"${"x".repeat(300)}"`), trace: TRACE }));
  const record = encodeBatch({ time: 1, messages });
  assertEquals(record.length <= 64 * 1024, true);
  assertEquals(decodeBatch(record).messages[0]?.trace, undefined);
  const fewer = encodeBatch({ time: 1, messages: messages.slice(0, 100) });
  assertEquals(decodeBatch(fewer).messages[99]?.trace, TRACE);
});

Deno.test("A record of a message that has more bytes than it says is not made: a part of another one would be cut off", () => {
  const messages = [{ ...messageOf('"é"'), bytes: 3 }, messageOf("1")];
  assertThrows(() => encodeBatch({ time: 0, messages }), TypeError, "more bytes than it was said to have");
});
