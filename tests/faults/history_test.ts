// The checker of fault runs, with made-up histories: it finds each fault, and none in a correct
// history.

import { assertEquals } from "@std/assert";
import { confirmedPublishesOf, type LogEntry, readersOf } from "../../dev/faults/node_log.ts";
import { check, type History, mostKept, type Stored } from "../../dev/faults/history.ts";

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

/** A publish, and its outcomes. */
function publish(number: number, ...answers: LogEntry["kind"][]): LogEntry[] {
  const { payload } = message(number);
  return (["invoke", ...answers] as const).map((kind) => kind === "ok" ? ok(number) : { kind, payload } as LogEntry);
}

function subscribe(after: number | null = null): LogEntry {
  return { kind: "subscribe", reader: READER, after: after === null ? null : `id${after}` };
}

function gap(oldest: number | null): LogEntry {
  return { kind: "gap", reader: READER, reason: "trimmed", from: "", oldest: oldest === null ? null : `id${oldest}` };
}

/** A reader goes on where the topic has not come to. */
const AHEAD: LogEntry = { kind: "subscribe", reader: READER, after: "id9", isAhead: true };

function gapAhead(oldest: number | null, from = "id9", reason = "ahead"): LogEntry {
  return { kind: "gap", reader: READER, reason, from, oldest: oldest === null ? null : `id${oldest}` };
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

Deno.test("A message that is stored twice is found, also if only the reported ids show it", () => {
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

Deno.test("Publishers that do not wait for each have their messages in the order of the calls", () => {
  const hasty = ({ id, payload }: Stored): Stored => ({ id, payload: { ...payload, isHasty: true } });
  const stored = [message(1, "id0"), message(0, "id1")].map(hasty);
  const called = (...numbers: number[]): LogEntry[] => [
    ...numbers.map((number): LogEntry => ({ kind: "invoke", payload: stored[1 - number]!.payload })),
    ...stored.map((message): LogEntry => ({ kind: "ok", duplicate: false, ...message })),
  ];
  assertEquals(faultsOf({ published: [], stored, reads: [] }), []);
  assertEquals(faultsOf({ published: called(1, 0), stored, reads: [] }), []);
  assertEquals(faultsOf({ published: called(0, 1), stored, reads: [] }), [
    "a: message 1 of a.0 is stored before message 0 of a.0, and was published after it",
  ]);
});

Deno.test("The messages of one node are in the order of its calls, for all publishers", () => {
  const other = (number: number, id: string): Stored => ({ id, payload: { publisher: "a.1", number } });
  const stored = [message(0), other(0, "id1")];
  const called = (...messages: Stored[]): LogEntry[] => [
    ...messages.map(({ payload }): LogEntry => ({ kind: "invoke", payload })),
    ...messages.map((message): LogEntry => ({ kind: "ok", duplicate: false, ...message })),
  ];
  assertEquals(faultsOf({ published: called(stored[0]!, stored[1]!), stored, reads: [] }), []);
  assertEquals(faultsOf({ published: called(stored[1]!, stored[0]!), stored, reads: [] }), [
    "a: message 0 of a.0 is stored before message 0 of a.1, and was published after it",
  ]);
});

Deno.test("The call that stored a message is known for the first one that was sent, not if another repeated it", () => {
  const numbersOf = (...log: LogEntry[]) => confirmedPublishesOf(log).map(({ payload }) => payload.number);
  const [again, repeated, [invoke]] = [publish(0, "ok"), publish(0, "unknown", "ok"), publish(0)];
  assertEquals(numbersOf(...again, ...publish(1, "ok")), [0, 1]);
  assertEquals(numbersOf(...repeated, ...publish(1, "ok")), [1]);
  assertEquals(numbersOf(...publish(0, "unsent", "unknown", "ok"), ...publish(1, "ok")), [1]);
  // It was killed, or has published all again.
  assertEquals(numbersOf(invoke!, { kind: "begin", generation: 2 }, ...again, ...publish(1, "ok")), [1]);
  assertEquals(numbersOf(...again, { kind: "begin", generation: 2 }, ...again), [0]);
  // Another node has stored it.
  assertEquals(numbersOf(invoke!, { kind: "ok", duplicate: true, ...message(0) }, ...publish(1, "ok")), [1]);
  // A message that was not sent is published again later.
  const [, unsent, , answered] = publish(0, "unsent", "unknown", "ok");
  assertEquals(numbersOf(invoke!, ...publish(1), unsent!, ok(1), answered!), [1, 0]);
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

Deno.test("A reader gets no gap if nothing is removed", () => {
  assertEquals(faultsOf({ reads: [subscribe(), ...read(0), gap(1), ...read(1, 2)] }), [
    "b, reader b.0: it was told of a gap where nothing is removed",
  ]);
});

Deno.test("A reader that continues ahead of all messages gets a gap, and begins again", () => {
  const begun = [subscribe(), ...read(0), AHEAD];
  const ahead = "b, reader b.0: it was not told that it is ahead";
  assertEquals(faultsOf({ reads: [...begun, gapAhead(0), ...read(0, 1, 2)] }), []);
  assertEquals(faultsOf({ reads: [...begun, gapAhead(0), subscribe(0), ...read(1, 2)] }), []);
  assertEquals(faultsOf({ reads: [...begun, subscribe(0), ...read(1, 2)] }), []);
  assertEquals(faultsOf({ reads: [...begun, ...read(0, 1, 2)] }), [ahead]);
  assertEquals(faultsOf({ reads: [...begun, ...read(1, 2)] }), [ahead]);
  assertEquals(faultsOf({ reads: [subscribe(), ...read(0, 1, 2), AHEAD] })[0], ahead);
  assertEquals(faultsOf({ reads: begun, isLost: true }), []);
  assertEquals(faultsOf({ reads: begun, stored: [], keeps: 0 }), [ahead]);
  assertEquals(faultsOf({ reads: [...begun, gapAhead(1), ...read(1, 2)] }), [
    "b, reader b.0: got message 1 of a.0 in place of message 0 of a.0, silently",
  ]);
});

Deno.test('Only readers that are ahead get the gap "ahead"', () => {
  const reads = (...entries: LogEntry[]) => [subscribe(), ...read(0), ...entries, ...read(0, 1, 2)];
  assertEquals(faultsOf({ reads: reads(AHEAD, gapAhead(0, "id0")) }), [
    "b, reader b.0: it was told of a gap from id0, and went on after id9",
  ]);
  assertEquals(faultsOf({ reads: reads(AHEAD, gapAhead(0, "id9", "retention")) }), [
    'b, reader b.0: it was told of the gap "retention" where it is ahead',
  ]);
  assertEquals(faultsOf({ reads: reads(AHEAD, gapAhead(0), gapAhead(0)) }), [
    "b, reader b.0: it was told of a gap where nothing is removed",
  ]);
  assertEquals(faultsOf({ keeps: 3, reads: reads(gapAhead(0)) }), [
    "b, reader b.0: it was told that it is ahead, and is not",
  ]);
  assertEquals(faultsOf({ keeps: 3, reads: reads(AHEAD, gapAhead(0)) }), []);
});

Deno.test("The progress of a reader is where it continues, or its last message", () => {
  assertEquals(readersOf([subscribe(), ...read(0, 1)]), ["id1"]);
  assertEquals(readersOf([subscribe(), ...read(0, 1), subscribe(1)]), ["id1"]);
  assertEquals(readersOf([subscribe(), ...read(0, 1), AHEAD]), ["id9"]);
  assertEquals(readersOf([subscribe(), ...read(0, 1), subscribe()]), [undefined]);
});

Deno.test("A trimmed log keeps its newest messages, and a reader gets a gap for those that it missed", () => {
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

Deno.test("A trimmed log does not keep too much", () => {
  assertEquals(faultsOf({ keeps: 1, most: 3 }), []);
  assertEquals(faultsOf({ keeps: 1, most: 2 }), ["store: it has 3 messages, and should have 2 at most"]);
  assertEquals(mostKept(Infinity, 4), Infinity);
  assertEquals(mostKept(50, 4), 58);
  assertEquals(mostKept(6_400, 4), 6_500);
});
