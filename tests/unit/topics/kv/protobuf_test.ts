import { assertEquals, assertThrows } from "@std/assert";
import { decodeMessage, encodeMessage, type Field } from "../../../../src/topics/kv/protobuf.ts";

Deno.test("a message has the bytes of the encoding's own example", () => {
  assertEquals(encodeMessage([[1, 150], [2, new TextEncoder().encode("testing")]]).toHex(), "089601120774657374696e67");
});

Deno.test("fields are read as they were written, in their order, also those that repeat", () => {
  const bytes = new Uint8Array(300).fill(7);
  const numbers = [0, 1, 127, 128, 2 ** 31, 2 ** 32 + 5, 1_795_260_023_012, Number.MAX_SAFE_INTEGER];
  const fields: Field[] = [...numbers.map((value): Field => [4, value]), [2, bytes], [2, new Uint8Array()], [100, 1]];
  assertEquals([...decodeMessage(encodeMessage(fields))], fields);
});

Deno.test("messages of any size are written, also where their parts are", () => {
  const sizes = [0, 1, 1_000, 1_020, 1_024, 5_000, 60_000];
  const fields = sizes.map((size): Field => [3, new Uint8Array(size).fill(size % 251)]);
  assertEquals([...decodeMessage(encodeMessage(fields))], fields);
  const [[, inner]] = [...decodeMessage(encodeMessage([[1, [...fields, [2, 7]]]]))] as [Field];
  assertEquals([...decodeMessage(inner as Uint8Array)], [...fields, [2, 7]]);
});

Deno.test("fields of a fixed size are passed over", () => {
  const message = new Uint8Array([0x09, 1, 2, 3, 4, 5, 6, 7, 8, 0x15, 1, 2, 3, 4, 0x18, 5]);
  assertEquals([...decodeMessage(message)].map(([number]) => number), [1, 2, 3]);
});

Deno.test("a message that is cut off anywhere is refused", () => {
  const message = encodeMessage([[2, new Uint8Array(200)], [1, 300]]);
  for (const length of [1, 2, 3, 100, message.length - 1]) {
    assertThrows(() => [...decodeMessage(message.subarray(0, length))], TypeError, "cut off");
  }
  assertThrows(() => [...decodeMessage(new Uint8Array([0x0b]))], TypeError, "none of Protocol Buffers");
});
