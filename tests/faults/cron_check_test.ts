// The checker of what nodes with a cron did, with made-up histories: it finds each broken promise, and
// none in a correct history.

import { assertEquals } from "@std/assert";
import { checkCron, type CronHistory } from "../../dev/faults/cron/check.ts";
import { type CronLine, LEASE, LOOK, MINUTE } from "../../dev/faults/cron/plan.ts";

/** Long after all that may last, in milliseconds. */
const LONG = 10 * MINUTE;

/** A run of a time, from a moment after it was due to another one. */
function ran(node: string, minute: number, from: number, to: number, kind: CronLine["kind"] = "done"): CronLine[] {
  const scheduled = minute * 60_000;
  const due = minute * MINUTE;
  return [{ kind: "begin", node, scheduled, time: due + from }, { kind, node, scheduled, time: due + to }];
}

/** Four minutes from the beginning of the time. */
function faultsOf(lines: readonly CronLine[], others: Partial<CronHistory> = {}): string[] {
  return checkCron({
    ...{
      origin: 0,
      precision: 50,
      from: 0,
      to: 4 * MINUTE,
      troubles: [],
      nodes: new Map([["a", -LONG], ["b", -LONG]]),
    },
    ...others,
    lines: lines.toSorted((one, other) => one.time - other.time),
  });
}

const [ZERO, ONE, TWO, THREE] = [0, 1, 2, 3].map((minute) => ran("a", minute, 5, 500)) as [
  CronLine[],
  CronLine[],
  CronLine[],
  CronLine[],
];

Deno.test("In a history of a cron that is right nothing is found, also where a run lasts long", () => {
  assertEquals(faultsOf([ZERO, ONE, TWO, THREE].flat()), []);
  assertEquals(faultsOf([...ZERO, ...ran("b", 1, 5, MINUTE + 500), ...THREE]), []);
  // The time that it skipped does not run where it breaks off after that, but the time of its own.
  const [begun] = ran("b", 1, 5, 500);
  const killed = { kind: "killed", node: "b", from: 2 * MINUTE + 100, to: Infinity } as const;
  const again = ran("a", 1, MINUTE + 100 + LEASE + LOOK, MINUTE + 200 + LEASE + LOOK);
  assertEquals(faultsOf([...ZERO, begun!, ...again, ...THREE], { troubles: [killed] }), []);
});

Deno.test("A time that runs on two nodes at once is found, unless one of them had ended or stood still", () => {
  const lines = [...ZERO, ...ran("a", 1, 5, 1_500), ...TWO, ...THREE];
  const other = ran("b", 1, 1_000, 2_000);
  assertEquals(faultsOf([...lines, ...other]), ["the time 00:01 on a and the time 00:01 on b at once"]);
  const frozen = { kind: "frozen", node: "a", from: MINUTE + 500, to: MINUTE + 2_200 } as const;
  assertEquals(faultsOf([...lines, ...other], { troubles: [frozen] }), []);
});

Deno.test("A time that runs again is found, unless its node could not say that it had run", () => {
  const lines = [...ZERO, ...ONE, ...ran("b", 1, 2_000, 2_200), ...TWO, ...THREE];
  assertEquals(faultsOf(lines), ["the time 00:01 was run by a, and again by b"]);
  const killed = { kind: "killed", node: "a", from: MINUTE + 600, to: Infinity } as const;
  const away = { kind: "store", from: MINUTE + 400, to: MINUTE + 1_000 } as const;
  assertEquals(faultsOf(lines, { troubles: [killed] }), []);
  assertEquals(faultsOf(lines, { troubles: [away] }), []);
});

Deno.test("A time that does not run is found, also if a node stands still that did not run it", () => {
  const lines = [...ZERO, ...ONE, ...THREE];
  assertEquals(faultsOf(lines), ["the time 00:02 was not run"]);
  const cutOff = { kind: "cut off", node: "b", from: -LONG, to: MINUTE - 4_000 } as const;
  assertEquals(faultsOf(lines, { troubles: [cutOff] }), ["the time 00:02 was not run"]);
  assertEquals(faultsOf(lines, { troubles: [{ kind: "store", from: 2 * MINUTE, to: 3 * MINUTE }] }), []);
});

Deno.test("A time that a wrong clock made due is skipped where another ran then, and only there", () => {
  const from = MINUTE + 200;
  const troubles = [{ kind: "clock", from, to: from + 400 + MINUTE, ahead: MINUTE } as const];
  assertEquals(faultsOf([...ZERO, ...ran("a", 1, 5, 1_000), ...THREE], { troubles }), []);
  assertEquals(faultsOf([...ZERO, ...ran("a", 1, 5, 100), ...THREE], { troubles }), ["the time 00:02 was not run"]);
  const back = [{ kind: "clock", from: 2 * MINUTE - 300, to: 2 * MINUTE + 500, ahead: -400 } as const];
  assertEquals(faultsOf([...ZERO, ...ONE, ...THREE], { troubles: back }), ["the time 00:02 was not run"]);
});

Deno.test("A time that runs before it is due, or when the next one is, is found", () => {
  assertEquals(faultsOf([...ZERO, ...ran("a", 1, -500, 5), ...TWO, ...THREE]), [
    "the time 00:01 was run too early by a",
  ]);
  const late = [...ZERO, ...ran("b", 1, MINUTE + 1_500, MINUTE + 1_700), ...TWO, ...THREE];
  assertEquals(faultsOf(late), ["the time 00:01 was run by b when a later one was due"]);
});

Deno.test("A run that is taken over too late is found", () => {
  const [begun] = ran("a", 1, 5, 500);
  const killed = { kind: "killed", node: "a", from: MINUTE + 200, to: Infinity } as const;
  const rest = [...ran("b", 2, 5, 500), ...ran("b", 3, 5, 500)];
  const inTime = ran("b", 1, 200 + LEASE + LOOK, 200 + LEASE + LOOK + 200);
  assertEquals(faultsOf([...ZERO, begun!, ...inTime, ...rest], { troubles: [killed] }), []);
  const late = [...ZERO, begun!, ...rest.map((line) => ({ ...line, time: line.time + 1_500 }))];
  assertEquals(faultsOf(late, { troubles: [killed] }), [
    "the time 00:01 broke off on a, and was taken over too late",
  ]);
});
