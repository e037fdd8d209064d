// HTML Living Standard, section 9.2.6: how a stream of events is parsed.

import { assert, assertEquals, assertThrows } from "@std/assert";
import { type Cursor, EventParser, type ParsedEvent } from "../../../src/client/streams.ts";

/** An event with the id to come back with. */
type Seen = readonly [type: string, data: string, id: string | undefined];

function see(parser: EventParser, parts: readonly string[], cursor: Cursor = {}): Seen[] {
  const seen: Seen[] = [];
  for (const part of parts) {
    for (const { type, data } of parser.parse(part)) seen.push([type, data, cursor.id]);
  }
  return seen;
}

function parse(...parts: string[]): Seen[] {
  const cursor: Cursor = {};
  return see(new EventParser(cursor), parts, cursor);
}

Deno.test("Fields end at the first colon and lose one space, unknown ones and comments are ignored", () => {
  assertEquals(parse("data:a\n\ndata: b\n\ndata:  c\n\ndata: d: e\n\n").map(([, data]) => data), [
    "a",
    "b",
    " c",
    "d: e",
  ]);
  assertEquals(parse(":data: no\nDATA: no\nother\n data: no\n\n"), []);
  assertEquals(parse("data\n\ndata:\ndata\n\n").map(([, data]) => data), ["", "\n"]);
});

Deno.test("A block without data is no event, and one that has not ended is none yet", () => {
  assertEquals(parse("event: x\n\ndata: 1\n\nevent: y\ndata: 2"), [["message", "1", undefined]]);
  assertEquals(parse("event: x\nevent: y\ndata: 1\n\ndata: 2\n\n"), [["y", "1", undefined], [
    "message",
    "2",
    undefined,
  ]]);
});

Deno.test("Lines end at CR, LF and CRLF, wherever the text is cut", () => {
  const text = "\n\ndata: 1\rdata: 2\r\nid: a\n\r\ndata: é\r\rid: b\r\n\r\nevent: x\ndata: 4\n\n:\r\n\r\n";
  const whole = parse(text);
  assertEquals(whole, [["message", "1\n2", "a"], ["message", "é", "a"], ["x", "4", "b"]]);
  for (let first = 0; first <= text.length; first++) {
    for (let second = first; second <= text.length; second++) {
      assertEquals(parse(text.slice(0, first), text.slice(first, second), text.slice(second)), whole);
    }
  }
  assertEquals(parse(...text), whole);
});

Deno.test("A CR at the end of a part ends the line at once, and a LF that follows belongs to it", () => {
  const cursor: Cursor = {};
  const parser = new EventParser(cursor);
  assertEquals(see(parser, ["data: 1\r", "\r"]), [["message", "1", undefined]]);
  assertEquals(see(parser, ["", "\n", "data: 2\n\n"]), [["message", "2", undefined]]);
});

Deno.test("The id holds for the events that follow, moves on without data, and an empty one resets it", () => {
  assertEquals(parse("id: 1\ndata\n\ndata\n\n").map(([, , id]) => id), ["1", "1"]);
  const cursor: Cursor = {};
  const parser = new EventParser(cursor);
  see(parser, ["id: 1\n\n"]);
  assertEquals(cursor.id, "1");
  see(parser, ["id: 2\n"]);
  assertEquals(cursor.id, "1", "the block has not ended");
  see(parser, ["\n:\nid: 3\n\n"]);
  assertEquals(cursor.id, "3");
  see(parser, ["id\ndata\n\n"]);
  assertEquals(cursor.id, "");
});

Deno.test("An id that no header can carry is ignored", () => {
  assertEquals(parse("id: 1\ndata\n\nid: 2\0\ndata\n\nid: \u0007\ndata\n\n").map(([, , id]) => id), ["1", "1", "1"]);
});

Deno.test("The time to come back is digits only", () => {
  for (
    const [text, retry] of [["20", 20], ["-1", undefined], ["1e3", undefined], ["", undefined], ["2.5", undefined]]
  ) {
    const cursor: Cursor = {};
    const parser = new EventParser(cursor);
    see(parser, [`retry: ${text}\n\n`]);
    assertEquals(cursor.retry, retry as number | undefined);
  }
});

Deno.test("Another connection begins without what had not ended, and with the id and the time to come back", () => {
  const cursor: Cursor = {};
  see(new EventParser(cursor), ["retry: 5\nid: 1\n\nid: 2\nevent: x\ndata: half\ndata: ha"]);
  assertEquals(see(new EventParser(cursor), ["data: whole\n\n"], cursor), [["message", "whole", "1"]]);
  assertEquals(cursor.retry, 5);
  see(new EventParser(cursor), ["data: x\r"]);
  assertEquals(see(new EventParser(cursor), ["\ndata: y\n\n"], cursor), [["message", "y", "1"]]);
});

Deno.test("An event that is too large is refused, in one line or in many, and not before", () => {
  const line = "x".repeat(1024 * 1024);
  const endless = new EventParser({});
  assertThrows(
    () => {
      for (;;) see(endless, [line]);
    },
    RangeError,
    "Cannot read the stream: an item is longer than 16777216 characters",
  );
  const lines = new EventParser({});
  assertThrows(() => {
    for (;;) see(lines, [`data: ${line}\n`]);
  }, RangeError);
  const empty = new EventParser({});
  let sent = 0;
  assertThrows(() => {
    for (const part = "data\n".repeat(65_536);; sent += part.length) see(empty, [part]);
  }, RangeError);
  assert(sent < 32 * 1024 * 1024, `Empty lines of data were ${sent} characters`);
  const largest = new EventParser({});
  const events: ParsedEvent[] = [];
  for (const part of ["data:", ...Array.from({ length: 15 }, () => line), "\n\n"]) events.push(...largest.parse(part));
  assertEquals(events[0]?.data.length, 15 * line.length);
  for (let count = 0; count < 100; count++) see(largest, [`:${line}\n`]);
});
