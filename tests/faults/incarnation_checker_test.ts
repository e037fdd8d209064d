// The checker of simulated runs whose database is lost or set back, over histories that are made
// up.

import { assertArrayIncludes, assertEquals } from "@std/assert";
import type { LogEntry } from "../../dev/faults/node_log.ts";
import { checkIncarnations, type StoredIncarnation } from "../../dev/faults/simulation/incarnation_checker.ts";

const READER = "b.0";

function message(id: string, number: number) {
  return { id, payload: { publisher: "a.0", number } };
}

function ok(id: string, number: number): LogEntry {
  return { kind: "ok", duplicate: false, ...message(id, number) };
}

function read(id: string, number: number): LogEntry {
  return { kind: "read", reader: READER, ...message(id, number) };
}

const BEGIN: LogEntry = { kind: "subscribe", reader: READER, after: null };
const GAP: LogEntry = { kind: "gap", reader: READER, reason: "epoch", from: "", oldest: null };

/**
 * An incarnation "x" of three messages, of which an incarnation "y" has the first, and another one
 * in the place of the second.
 */
const LIVES: readonly StoredIncarnation[] = [
  { id: "x", stored: [message("x1", 1), message("x2", 2), message("x3", 3)] },
  { id: "y", stored: [message("y1", 1), message("y2", 4)] },
];
const PUBLISHED: readonly LogEntry[] = [ok("x1", 1), ok("x2", 2), ok("x3", 3), ok("y2", 4)];

function faultsOf(reads: LogEntry[], published: readonly LogEntry[] = PUBLISHED): string[] {
  const logs = new Map([["a", [...published]], ["b", [BEGIN, ...reads]]]);
  return [...checkIncarnations(logs, LIVES, Infinity).faults];
}

Deno.test("A reader that gets a gap for a new incarnation and begins there is correct", () => {
  assertEquals(faultsOf([read("x1", 1), read("x2", 2), GAP, read("y1", 1), read("y2", 4)]), []);
  assertEquals(faultsOf([read("y1", 1), read("y2", 4)]), []);
});

Deno.test("No reader passes to another incarnation without a gap, or back to an ended one", () => {
  assertArrayIncludes(faultsOf([read("x1", 1), read("y1", 1), read("y2", 4)]), [
    "b, reader b.0: came to ids of another incarnation, silently",
  ]);
  assertArrayIncludes(faultsOf([read("y1", 1), GAP, read("x2", 2), GAP, read("y1", 1), read("y2", 4)]), [
    "b, reader b.0: came back to an incarnation that had ended",
  ]);
});

Deno.test("Within an incarnation nothing is missed, also where another one follows", () => {
  assertEquals(faultsOf([read("x1", 1), read("x3", 3), GAP, read("y1", 1), read("y2", 4)]), [
    "incarnation 1, b, reader b.0: got message 3 of a.0 in place of message 2 of a.0, silently",
  ]);
  assertEquals(faultsOf([read("x1", 1), GAP, read("y2", 4)]), [
    "incarnation 2, b, reader b.0: got message 4 of a.0 in place of message 1 of a.0, silently",
  ]);
});

Deno.test("A reader ahead in an incarnation gets a gap there, or one for a new incarnation", () => {
  const [ahead, told] = [{ ...BEGIN, after: "x9", isAhead: true }, {
    ...GAP,
    reason: "ahead",
    from: "x9",
  }] as LogEntry[];
  const [first, rest] = [[read("x1", 1), read("x2", 2)], [GAP, read("y1", 1), read("y2", 4)]];
  assertEquals(faultsOf([...first, ahead!, told!, ...first, ...rest]), []);
  assertEquals(faultsOf([...first, ahead!, ...rest]), []);
  assertEquals(faultsOf([...first, ahead!, read("x3", 3), ...rest]), [
    "incarnation 1, b, reader b.0: it was not told that it is ahead",
  ]);
  assertArrayIncludes(faultsOf([...first, ahead!, told!, read("y1", 1), read("y2", 4)]), [
    "b, reader b.0: came to another incarnation, silently",
  ]);
});

Deno.test("Within each incarnation the messages of a node are in the order of its calls", () => {
  const calls = [4, 1, 3, 2].map((number): LogEntry => ({ kind: "invoke", payload: { publisher: "a.0", number } }));
  assertEquals(faultsOf([read("y1", 1), read("y2", 4)], [...calls, ...PUBLISHED]), [
    "incarnation 1, a: message 2 of a.0 is stored before message 3 of a.0, and was published after it",
  ]);
});

Deno.test("All come to the end of the last incarnation", () => {
  assertEquals(faultsOf([read("x1", 1)]), ["incarnation 2, b, reader b.0: it came to 0 of 2"]);
  assertEquals(faultsOf([read("x1", 1), GAP, read("y1", 1)]), ["incarnation 2, b, reader b.0: it came to 1 of 2"]);
});

Deno.test("An acknowledged message is in the incarnation of its id, or in a later one that replaces it", () => {
  assertEquals(faultsOf([read("y1", 1), read("y2", 4)], [...PUBLISHED, ok("x2", 4)]), []);
  assertEquals(faultsOf([read("y1", 1), read("y2", 4)], [...PUBLISHED, ok("y3", 5)]), [
    "incarnation 2, store: message 5 of a.0, which was acknowledged or read as y3, is lost",
    "incarnation 2, b, reader b.0: it came to 2 of 3",
  ]);
  assertEquals(
    faultsOf([read("y1", 1), read("y2", 4)], [...PUBLISHED, ok("z1", 5)])[0],
    "a, an id of no incarnation: z1",
  );
});
