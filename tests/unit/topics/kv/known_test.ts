// What a node knows of a database without asking, and when it forgets.

import { assertEquals, assertNotStrictEquals, assertStrictEquals } from "@std/assert";
import type { Life } from "../../../../src/topics/kv/incarnation.ts";
import { Known } from "../../../../src/topics/kv/appender.ts";

const MAX_KNOWN = 10_000;

function lifeOf(text: string): Life {
  return {
    key: ["epoch"],
    value: new TextEncoder().encode(text),
    version: "00000000000000000001",
    text,
    newest: "",
    confirmedAt: 0,
  };
}

Deno.test("However many series there are, only those that were used last are known", () => {
  const known = new Known(() => 0);
  known.noteVersion("old", "1");
  known.noteVersion("used again", "1");
  for (let number = 0; number < MAX_KNOWN - 2; number++) known.noteVersion(`series ${number}`, "1");
  known.noteVersion("used again", "2");
  assertEquals([known.versionOf("old"), known.versionOf("used again")], ["1", "2"]);
  known.noteVersion("newest", "1");
  assertEquals([known.versionOf("old"), known.versionOf("used again"), known.versionOf("newest")], [
    undefined,
    "2",
    "1",
  ]);
  known.noteVersion("newest", null);
  assertEquals(known.versionOf("newest"), undefined);
});

Deno.test("However many logs there are, only those that were used last are known", () => {
  const known = new Known(() => 0);
  const life = lifeOf("life");
  const old = known.log("old", life);
  const used = known.log("used again", life);
  for (let number = 0; number < MAX_KNOWN - 2; number++) known.log(`log ${number}`, life);
  assertStrictEquals(known.log("used again", life), used);
  known.log("newest", life);
  assertStrictEquals(known.log("used again", life), used);
  assertNotStrictEquals(known.log("old", life), old);
});

Deno.test("Of another life of the database nothing is known", () => {
  const known = new Known(() => 0);
  const before = known.log("log", lifeOf("before"));
  before.isDeclared = true;
  known.noteVersion("series", "1");
  const after = known.log("log", lifeOf("after"));
  assertEquals([after.isDeclared, after.epoch === before.epoch, known.versionOf("series")], [false, false, undefined]);
});
