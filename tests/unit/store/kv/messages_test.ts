// Requests to a database and its replies in bytes, beside the encoder and decoder of the tests.

import { assertEquals, assertThrows } from "@std/assert";
import { decodeRead, encodeRead, encodeWrite } from "../../../../src/store/kv/kv_messages.ts";
import { decodeMessage, encodeMessage } from "../../support/protobuf.ts";

const bytes = (...values: number[]) => Uint8Array.from(values);

Deno.test("a read has its ranges with their bounds and limits", () => {
  const message = encodeRead({
    ranges: [
      { start: bytes(1), end: bytes(1, 0), limit: 1 },
      { start: bytes(), end: new Uint8Array(200), limit: 1000 },
    ],
  });
  const ranges = decodeMessage(message).map(([number, range]) => [number, decodeMessage(range as Uint8Array)]);
  assertEquals(ranges, [
    [1, [[1, bytes(1)], [2, bytes(1, 0)], [3, 1]]],
    [1, [[1, bytes()], [2, new Uint8Array(200)], [3, 1000]]],
  ]);
});

Deno.test("a write has its checks and its changes, with times above 32 bits", () => {
  const versionstamp = bytes(0, 0, 0, 0, 0, 0, 0, 1, 0, 0);
  const message = encodeWrite({
    checks: [{ key: bytes(1), versionstamp }, { key: bytes(2), versionstamp: undefined }],
    mutations: [
      {
        mutationType: "M_SET",
        key: bytes(3),
        value: { data: bytes(9), encoding: "VE_BYTES" },
        expireAtMs: "1795420800123",
      },
      { mutationType: "M_DELETE", key: bytes(4), value: undefined },
      {
        mutationType: "M_SET_SUFFIX_VERSIONSTAMPED_KEY",
        key: bytes(5),
        value: { data: new Uint8Array(300), encoding: "VE_BYTES" },
      },
    ],
    enqueues: [],
  });
  const fields = decodeMessage(message).map(([number, field]) => [number, decodeMessage(field as Uint8Array)]);
  const value = (data: Uint8Array): unknown => [[1, data], [2, 3]];
  const decoded = fields.map(([number, parts]) => [
    number,
    (parts as [number, number | Uint8Array][]).map(([part, given]) =>
      number === 2 && part === 2 ? [part, decodeMessage(given as Uint8Array)] : [part, given]
    ),
  ]);
  assertEquals<unknown>(decoded, [
    [1, [[1, bytes(1)], [2, versionstamp]]],
    [1, [[1, bytes(2)]]],
    [2, [[1, bytes(3)], [2, value(bytes(9))], [3, 1], [4, 1_795_420_800_123]]],
    [2, [[1, bytes(4)], [3, 2]]],
    [2, [[1, bytes(5)], [2, value(new Uint8Array(300))], [3, 9]]],
  ]);
});

Deno.test("a reply has the entries of each range, and the rest is the reply without them", () => {
  const versionstamp = bytes(0, 0, 0, 0, 0, 0, 0, 1, 0, 0);
  const entry = (key: number, value: Uint8Array) =>
    encodeMessage([[1, bytes(key)], [2, value], [3, 3], [4, versionstamp]]);
  const large = new Uint8Array(70_000).fill(7);
  const [strong, status, unknown] = [[4, 1], [8, 300], [99, 2 ** 40]] as const;
  // A number of 32 bits, and one of 64, of a later version of the protocol.
  const fixed = bytes(10 << 3 | 5, 1, 2, 3, 4, 11 << 3 | 1, 1, 2, 3, 4, 5, 6, 7, 8);
  const reply = Uint8Array.from([
    ...encodeMessage([strong, [1, encodeMessage([[1, entry(1, large)], [1, entry(2, bytes())]])], [1, bytes()]]),
    ...fixed,
    ...encodeMessage([unknown, [1, encodeMessage([[1, encodeMessage([[1, bytes(3)], [3, 1], unknown])]])], status]),
  ]);
  const { ranges, rest } = decodeRead(reply);
  const stored = { encoding: "VE_BYTES", versionstamp };
  assertEquals(ranges, [
    [{ key: bytes(1), value: large, ...stored }, { key: bytes(2), value: bytes(), ...stored }],
    [],
    [{ key: bytes(3), value: bytes(), encoding: "VE_UNSPECIFIED", versionstamp: bytes() }],
  ]);
  assertEquals(rest, Uint8Array.from([...encodeMessage([strong]), ...fixed, ...encodeMessage([unknown, status])]));
});

Deno.test("a reply that is cut off anywhere in an entry is an error", () => {
  const entry = encodeMessage([[1, bytes(1, 2, 3)], [2, new Uint8Array(300)], [3, 3]]);
  const reply = encodeMessage([[1, encodeMessage([[1, entry]])]]);
  for (let length = 1; length < reply.length; length++) {
    assertThrows(() => decodeRead(reply.subarray(0, length)), TypeError, "Cannot read a reply of the database");
  }
  // A field of a type that the format no longer has.
  assertThrows(() => decodeRead(bytes(1 << 3 | 3)), TypeError);
});
