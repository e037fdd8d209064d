// Checks runs in which a database was lost or restored: each incarnation alone, and that no reader
// passes from one to the next without a gap.

import { check, type Findings, type History, type Stored } from "../history.ts";
import type { LogEntry, Payload } from "../node_log.ts";

/** The content of a database in one incarnation. */
export interface StoredIncarnation {
  /** The prefix of the ids of its messages. */
  readonly id: string;
  /** Its messages in order, when it ended. */
  readonly stored: readonly Stored[];
}

/** The reasons of gaps after a loss. */
const LOSSES = ["epoch", "ahead"];

/**
 * Finds the faults in each incarnation, and between them.
 *
 * @param logs The logs of the nodes, by their names.
 * @param incarnations The incarnations, the current one last.
 * @param keeps The number of newest messages that the store keeps at least.
 */
export function checkIncarnations(
  logs: History["logs"],
  incarnations: readonly StoredIncarnation[],
  keeps: number,
): Findings {
  const parts = incarnations.map(() => new Map([...logs.keys()].map((name) => [name, [] as LogEntry[]])));
  const faults: string[] = [];
  for (const [node, log] of logs) {
    const own = parts.map((part) => part.get(node)!);
    faults.push(...share(log, own, incarnations).map((fault) => `${node}, ${fault}`));
  }
  const findings = incarnations.map(({ stored }, index) =>
    check({ logs: parts[index]!, stored, keeps, isLost: index < incarnations.length - 1 })
  );
  const sum = (key: "acknowledged" | "reads") => findings.reduce((sum, found) => sum + found[key], 0);
  const all = [...logs.values()].flat();
  return {
    faults: [
      ...faults,
      ...findings.flatMap(({ faults }, index) => faults.map((fault) => `incarnation ${index + 1}, ${fault}`)),
    ],
    acknowledged: sum("acknowledged"),
    reads: sum("reads"),
    gaps: all.filter(({ kind }) => kind === "gap").length,
    unknown: all.filter(({ kind }) => kind === "unknown").length,
  };
}

/** The state of a reader. */
interface Reading {
  readonly incarnation: number;
  /** Whether it got a gap since. */
  readonly isTold: boolean;
  /** Whether it has since read messages with ids of an ended incarnation. */
  readonly hasStrayed: boolean;
}

/**
 * Gives each entry of a log to its incarnation. A reader that comes to another one begins there
 * with its first message.
 *
 * Until a node notices that the database was set back, it reports messages of the new incarnation
 * under ids of the old one. A publisher gets such ids as answers; a reader gets a gap before or
 * afterwards.
 */
function share(
  log: readonly LogEntry[],
  parts: readonly LogEntry[][],
  incarnations: readonly StoredIncarnation[],
): string[] {
  const faults: string[] = [];
  const incarnationOf = (id: string) => incarnations.findIndex((incarnation) => id.startsWith(incarnation.id));
  const readers = new Map<string, Reading>();
  /** The incarnation of the ids that each reader got since its last gap. */
  const idsOf = new Map<string, number>();
  /** Readers that went on ahead of their incarnation, and have no gap yet. */
  const ahead = new Set<string>();
  const begin = (reader: string, incarnation: number): void => {
    readers.set(reader, { incarnation, isTold: false, hasStrayed: false });
    parts[incarnation]!.push({ kind: "subscribe", reader, after: null });
  };
  for (const entry of log) {
    if (entry.kind === "ok") {
      const id = isOf(entry, incarnations) ? entry.id : idAfterwards(entry, incarnations) ?? entry.id;
      parts[incarnationOf(id)]?.push({ ...entry, id }) ?? faults.push(`an id of no incarnation: ${id}`);
    } else if (entry.kind === "invoke" || entry.kind === "unknown" || entry.kind === "unsent") {
      // The incarnation of the answer is not known yet.
      for (const part of parts) part.push(entry);
    } else if (entry.kind === "subscribe") {
      ahead.delete(entry.reader);
      if (entry.isAhead) ahead.add(entry.reader);
      if (entry.after === null) {
        readers.set(entry.reader, { incarnation: -1, isTold: true, hasStrayed: false });
        idsOf.delete(entry.reader);
      } else parts[incarnationOf(entry.after)]?.push(entry);
    } else if (entry.kind === "gap" || entry.kind === "read") {
      const { reader } = entry;
      const reading = readers.get(reader)!;
      const { incarnation, isTold, hasStrayed } = reading;
      const isAhead = ahead.delete(reader);
      if (entry.kind === "gap") {
        if (LOSSES.includes(entry.reason) && !(isAhead && entry.reason === "ahead")) {
          readers.set(reader, { ...reading, isTold: true });
          idsOf.delete(reader);
        } else parts[Math.max(incarnation, 0)]!.push(entry);
        continue;
      }
      const next = incarnationOf(entry.id);
      if (next < 0) {
        faults.push(`reader ${reader}: got ${entry.id}, which is of no incarnation`);
        continue;
      }
      if ((idsOf.get(reader) ?? next) !== next) {
        faults.push(`reader ${reader}: came to ids of another incarnation, silently`);
      }
      idsOf.set(reader, next);
      const mayStray = isTold ? next <= incarnation : !isOf(entry, incarnations);
      if (mayStray && idAfterwards(entry, incarnations) !== undefined) {
        readers.set(reader, { incarnation, isTold, hasStrayed: true });
        continue;
      }
      if (next < incarnation) faults.push(`reader ${reader}: came back to an incarnation that had ended`);
      else if (next > incarnation && !isTold) faults.push(`reader ${reader}: came to another incarnation, silently`);
      else if (next === incarnation && isTold !== hasStrayed) {
        faults.push(`reader ${reader}: was ${isTold ? "" : "not "}told of a gap`);
      }
      if (next !== incarnation || hasStrayed) begin(reader, next);
      parts[next]!.push(entry);
    }
  }
  // All readers must reach the last incarnation.
  const last = incarnations.length - 1;
  for (const [reader, { incarnation, hasStrayed }] of readers) {
    if (incarnation !== last || hasStrayed) begin(reader, last);
  }
  return faults;
}

type Named = Pick<Stored, "id" | "payload">;

/** Whether the incarnation that the id names has the message. */
function isOf({ id, payload }: Named, incarnations: readonly StoredIncarnation[]): boolean {
  const incarnation = incarnations.find((incarnation) => id.startsWith(incarnation.id));
  return incarnation !== undefined &&
    incarnation.stored.some((stored) => stored.id === id && isSame(stored.payload, payload));
}

/** The id of the message in a later incarnation that has it at the same cursor. */
function idAfterwards({ id, payload }: Named, incarnations: readonly StoredIncarnation[]): string | undefined {
  const index = incarnations.findIndex((incarnation) => id.startsWith(incarnation.id));
  for (const { id: there, stored } of index < 0 ? [] : incarnations.slice(index + 1)) {
    const idThere = there + id.slice(there.length);
    if (stored.some(({ id, payload: found }) => id === idThere && isSame(found, payload))) return idThere;
  }
  return undefined;
}

function isSame(one: Payload, other: Payload): boolean {
  return one.publisher === other.publisher && one.number === other.number;
}
