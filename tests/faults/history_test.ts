// The checker of fault runs over histories that are made up: it finds what is wrong in each, and nothing in what is right.

import { assertEquals } from "@std/assert";
import { check, type History, mostKept, type Stored } from "../../faults/history.ts";
import type { LogEntry } from "../../faults/log_entry.ts";

const PUBLISHER = "a.0";
const READER = "b.0";

function message(number: number, id = `id${number}`): Stored {
  return { id, payload: { publisher: PUBLISHER, number } };
}

function ok(number: number, id?: string): LogEntry {
  return { kind: "ok", duplicate: false, ...message(number, id) };
}

function read(...numbers: number[]): LogEntry[] {
  return numbers.map((number) => ({ kind: "read", reader: READER, ...message(number) }));
}

function subscribe(after: number | null = null): LogEntry {
  return { kind: "subscribe", reader: READER, after: after === null ? null : `id${after}` };
}

function gap(oldest: number | null): LogEntry {
  return { kind: "gap", reader: READER, reason: "trimmed", from: "", oldest: oldest === null ? null : `id${oldest}` };
}

/** Three messages that are published on one node, and read on another one. */
function faultsOf({ published = [ok(0), ok(1), ok(2)], reads = [subscribe(), ...read(0, 1, 2)], ...others }: {
  published?: LogEntry[];
  reads?: LogEntry[];
} & Partial<History>): string[] {
  const logs = new Map([["a", published], ["b", reads]]);
  return [...check({ logs, stored: [message(0), message(1), message(2)], keeps: Infinity, ...others }).faults];
}

Deno.test("In a history that is right nothing is found", () => {
  assertEquals(faultsOf({}), []);
  assertEquals(faultsOf({ reads: [subscribe(), ...read(0), subscribe(0), ...read(1, 2)] }), []);
  assertEquals(check({ logs: new Map([["a", [ok(0)]]]), stored: [message(0)], keeps: Infinity }), {
    faults: [],
    acknowledged: 1,
    reads: 0,
    gaps: 0,
    unknown: 0,
  });
});

Deno.test("An acknowledged message that is not stored is lost, and one that was only read, too", () => {
  const lost = (number: number) =>
    `store: message ${number} of a.0, which was acknowledged or read as id${number}, is lost`;
  assertEquals(faultsOf({ stored: [message(0), message(2)] }), [lost(1)]);
  assertEquals(faultsOf({ published: [], stored: [message(0), message(1)] }), [lost(2)]);
});

Deno.test("A message that is stored twice is found, also where only the ids that were told show it", () => {
  assertEquals(faultsOf({ stored: [message(0), message(1), message(2), message(1, "id3")] }).slice(0, 1), [
    "store: message 1 of a.0 is there twice, as id3 and as id1",
  ]);
  assertEquals(
    faultsOf({ published: [ok(0), ok(1, "id1x"), ok(2)] })[0],
    "a: message 1 of a.0 is there twice, as id1x and as id1",
  );
});

Deno.test("An id is of one message", () => {
  assertEquals(
    faultsOf({ published: [ok(0), ok(7, "id1"), ok(2)] })[0],
    "a: id id1 is of message 7 of a.0 and of message 1 of a.0",
  );
});

Deno.test("A store that is not in order is found, of one publisher and of all", () => {
  const stored = [message(0), message(2), message(1)];
  assertEquals(faultsOf({ stored }), ["store: it is not in the order of its ids"]);
  assertEquals(faultsOf({ published: [], stored: [message(1, "id0"), message(0, "id1")], reads: [] }), [
    "store: message 0 of a.0 is not in its publisher's order",
  ]);
});

Deno.test("A reader that misses a message, gets one twice or in the wrong order is found", () => {
  const wrong = (got: number, expected: string) =>
    `b, reader b.0: got message ${got} of a.0 in place of ${expected}, silently`;
  assertEquals(faultsOf({ reads: [subscribe(), ...read(0, 2)] }), [wrong(2, "message 1 of a.0")]);
  assertEquals(faultsOf({ reads: [subscribe(), ...read(0, 1, 1, 2)] }), [wrong(1, "message 2 of a.0")]);
  assertEquals(faultsOf({ reads: [subscribe(), ...read(0, 2, 1)] })[0], wrong(2, "message 1 of a.0"));
  assertEquals(faultsOf({ reads: [subscribe(), ...read(0), subscribe(0), ...read(2)] }), [
    wrong(2, "message 1 of a.0"),
  ]);
  assertEquals(faultsOf({ reads: [subscribe(), ...read(0, 1, 2), ...read(2)] }), [wrong(2, "nothing")]);
});

Deno.test("A reader that does not come to the end is found", () => {
  assertEquals(faultsOf({ reads: [subscribe(), ...read(0, 1)] }), ["b, reader b.0: it came to 2 of 3"]);
  assertEquals(faultsOf({ reads: [subscribe()] }), ["b, reader b.0: it came to 0 of 3"]);
});

Deno.test("Where nothing is removed no reader is told of a gap", () => {
  assertEquals(faultsOf({ reads: [subscribe(), ...read(0), gap(1), ...read(1, 2)] }), [
    "b, reader b.0: it was told of a gap where nothing is removed",
  ]);
});

Deno.test("Of a log that is trimmed the newest messages are kept, and a reader is told of what it misses", () => {
  const trimmed = { stored: [message(1), message(2)], keeps: 2 };
  assertEquals(faultsOf({ ...trimmed, reads: [subscribe(), ...read(0), gap(1), ...read(1, 2)] }), []);
  assertEquals(faultsOf({ ...trimmed, reads: [subscribe(), ...read(1, 2)] }), []);
  assertEquals(faultsOf({ ...trimmed, reads: [subscribe(), ...read(0, 2)] }), [
    "b, reader b.0: got message 2 of a.0 in place of message 1 of a.0, silently",
  ]);
  assertEquals(faultsOf({ ...trimmed, stored: [message(2)] }), ["store: it has 1 of 3 messages, and keeps 2"]);
  assertEquals(faultsOf({ stored: [message(0), message(2)], keeps: 2 }), [
    "store: message 1 of a.0, which was acknowledged or read as id1, is lost",
  ]);
});

Deno.test("Of a log that was trimmed no more is there than may be", () => {
  assertEquals(faultsOf({ keeps: 1, most: 3 }), []);
  assertEquals(faultsOf({ keeps: 1, most: 2 }), ["store: it has 3 messages, and should have 2 at most"]);
  assertEquals(mostKept(Infinity, 4), Infinity);
  assertEquals(mostKept(50, 4), 58);
  assertEquals(mostKept(6_400, 4), 6_500);
});
