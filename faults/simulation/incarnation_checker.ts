// Where a database was lost and made anew, each of its lives is held by itself against what topics promise; and nobody comes from one to
// the next without being told.

import { check, type Findings, type History, type Stored } from "../history.ts";
import type { LogEntry, Payload } from "../node_log.ts";

/** What a database held in one of its lives. */
export interface Life {
  /** What the ids of its messages begin with. */
  readonly epoch: string;
  /** Its messages, in their order, when it ended. */
  readonly stored: readonly Stored[];
}

/** The reasons of gaps that a lost database has. */
const LOSSES = ["epoch", "ahead"];

/**
 * Looks what was wrong in each life, and between them.
 *
 * @param logs The logs of the nodes, by their names.
 * @param lives The lives, the present one last.
 * @param keeps How many of the newest messages the store keeps at least.
 */
export function checkLives(logs: History["logs"], lives: readonly Life[], keeps: number): Findings {
  const parts = lives.map(() => new Map([...logs.keys()].map((name) => [name, [] as LogEntry[]])));
  const faults: string[] = [];
  for (const [node, log] of logs) {
    const own = parts.map((part) => part.get(node)!);
    faults.push(...share(log, own, lives).map((fault) => `${node}, ${fault}`));
  }
  const findings = lives.map(({ stored }, index) =>
    check({ logs: parts[index]!, stored, keeps, isLost: index < lives.length - 1 })
  );
  const sum = (key: "acknowledged" | "reads") => findings.reduce((sum, found) => sum + found[key], 0);
  const all = [...logs.values()].flat();
  return {
    faults: [
      ...faults,
      ...findings.flatMap(({ faults }, index) => faults.map((fault) => `life ${index + 1}, ${fault}`)),
    ],
    acknowledged: sum("acknowledged"),
    reads: sum("reads"),
    gaps: all.filter(({ kind }) => kind === "gap").length,
    unknown: all.filter(({ kind }) => kind === "unknown").length,
  };
}

/** Where a reader is. */
interface Reading {
  readonly life: number;
  /** Whether it was told that it misses something since. */
  readonly isTold: boolean;
  /** Whether it has read since what is told under ids of a life that has ended. */
  readonly hasStrayed: boolean;
}

/**
 * Gives each entry of a log to the life that it is of: whoever comes to another life begins there, at its first message.
 *
 * Until a node notices that a database was set back, and that another life of it has begun, it tells what is there under ids of the life
 * before. Who publishes is answered by them; who reads is told of a gap before or afterwards.
 */
function share(log: readonly LogEntry[], parts: readonly LogEntry[][], lives: readonly Life[]): string[] {
  const faults: string[] = [];
  const lifeOf = (id: string) => lives.findIndex(({ epoch }) => id.startsWith(epoch));
  const readers = new Map<string, Reading>();
  /** Of which life the ids are that each reader got since it was told that it misses something. */
  const idsOf = new Map<string, number>();
  /** Who went on at a place that is ahead in its life, and was not told so yet. */
  const ahead = new Set<string>();
  const begin = (reader: string, life: number): void => {
    readers.set(reader, { life, isTold: false, hasStrayed: false });
    parts[life]!.push({ kind: "subscribe", reader, after: null });
  };
  for (const entry of log) {
    if (entry.kind === "ok") {
      const id = isOf(entry, lives) ? entry.id : idAfterwards(entry, lives) ?? entry.id;
      parts[lifeOf(id)]?.push({ ...entry, id }) ?? faults.push(`an id of no life: ${id}`);
    } else if (entry.kind === "invoke" || entry.kind === "unknown" || entry.kind === "unsent") {
      // Of which life the answer will be nobody knows yet.
      for (const part of parts) part.push(entry);
    } else if (entry.kind === "subscribe") {
      ahead.delete(entry.reader);
      if (entry.isAhead) ahead.add(entry.reader);
      if (entry.after === null) {
        readers.set(entry.reader, { life: -1, isTold: true, hasStrayed: false });
        idsOf.delete(entry.reader);
      } else parts[lifeOf(entry.after)]?.push(entry);
    } else if (entry.kind === "gap" || entry.kind === "read") {
      const { reader } = entry;
      const reading = readers.get(reader)!;
      const { life, isTold, hasStrayed } = reading;
      const isAhead = ahead.delete(reader);
      if (entry.kind === "gap") {
        if (LOSSES.includes(entry.reason) && !(isAhead && entry.reason === "ahead")) {
          readers.set(reader, { ...reading, isTold: true });
          idsOf.delete(reader);
        } else parts[Math.max(life, 0)]!.push(entry);
        continue;
      }
      const next = lifeOf(entry.id);
      if (next < 0) {
        faults.push(`reader ${reader}: got ${entry.id}, which is of no life`);
        continue;
      }
      if ((idsOf.get(reader) ?? next) !== next) faults.push(`reader ${reader}: came to ids of another life, silently`);
      idsOf.set(reader, next);
      const mayStray = isTold ? next <= life : !isOf(entry, lives);
      if (mayStray && idAfterwards(entry, lives) !== undefined) {
        readers.set(reader, { life, isTold, hasStrayed: true });
        continue;
      }
      if (next < life) faults.push(`reader ${reader}: came back to a life that had ended`);
      else if (next > life && !isTold) faults.push(`reader ${reader}: came to another life, silently`);
      else if (next === life && isTold !== hasStrayed) {
        faults.push(`reader ${reader}: was ${isTold ? "" : "not "}told of a gap`);
      }
      if (next !== life || hasStrayed) begin(reader, next);
      parts[next]!.push(entry);
    }
  }
  // All must come to the last one.
  const last = lives.length - 1;
  for (const [reader, { life, hasStrayed }] of readers) if (life !== last || hasStrayed) begin(reader, last);
  return faults;
}

type Named = Pick<Stored, "id" | "payload">;

/** Whether a message is of the life that its id is of. */
function isOf({ id, payload }: Named, lives: readonly Life[]): boolean {
  const life = lives.find(({ epoch }) => id.startsWith(epoch));
  return life !== undefined && life.stored.some((stored) => stored.id === id && isSame(stored.payload, payload));
}

/** The id of the message in a later life in which it has the same place. */
function idAfterwards({ id, payload }: Named, lives: readonly Life[]): string | undefined {
  const index = lives.findIndex(({ epoch }) => id.startsWith(epoch));
  for (const { epoch, stored } of index < 0 ? [] : lives.slice(index + 1)) {
    const idThere = epoch + id.slice(epoch.length);
    if (stored.some(({ id, payload: found }) => id === idThere && isSame(found, payload))) return idThere;
  }
  return undefined;
}

function isSame(one: Payload, other: Payload): boolean {
  return one.publisher === other.publisher && one.number === other.number;
}
