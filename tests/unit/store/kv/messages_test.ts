// The encoding of requests to a database, read by a decoder of the tests.

import { assertEquals } from "@std/assert";
import { encodeRead, encodeWrite } from "../../../../src/store/kv/npm_client.ts";
import { decodeMessage } from "../../support/protobuf.ts";

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
