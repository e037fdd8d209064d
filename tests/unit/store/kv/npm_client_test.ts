import { assertEquals } from "@std/assert";
import { packKey, unpackKey } from "../../../../src/store/kv/npm_client.ts";

const LONG = "a".repeat(3_000);
const TEXTS = [
  "",
  "\0",
  "\0\0",
  "\0a",
  "a",
  "a\0",
  "a\0b",
  LONG,
  `${LONG}日`,
  "ab",
  "a😀b",
  "é",
  "日本",
  "\ufeff",
  "😀",
];

Deno.test("a key has the bytes that Deno KV keeps it by", () => {
  assertEquals(packKey(["a", "\0é"]), new Uint8Array([2, 0x61, 0, 2, 0, 0xff, 0xc3, 0xa9, 0]));
});

Deno.test("a key that was packed is read as it was", () => {
  for (const first of TEXTS) {
    for (const second of TEXTS) assertEquals(unpackKey(packKey([first, second])), [first, second]);
  }
});

Deno.test("the bytes of keys are in the order of their parts", () => {
  const keys = TEXTS.flatMap((text) => [[text], [text, "z"]]);
  const packed = keys.map((key) => packKey(key).toHex());
  assertEquals(packed, packed.toSorted());
});

Deno.test("a key with a part that is no text, or that is cut off, is not read", () => {
  assertEquals(unpackKey(new Uint8Array([0x26])), undefined);
  assertEquals(unpackKey(new Uint8Array([2, 0x61])), undefined);
  assertEquals(unpackKey(new Uint8Array([2, 0x61, 0, 0xff])), undefined);
  assertEquals(unpackKey(new Uint8Array([2, 0x61, 0, 0x21, 0xc0, 0, 0xff, 0])), undefined);
});
