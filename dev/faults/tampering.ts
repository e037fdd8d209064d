// Wrong histories, made from a correct one. The checker must find the fault in each.

import type { Random } from "../../tests/unit/support/random.ts";
import { confirmedPublishesOf, type LogEntry, type Payload } from "./node_log.ts";
import type { History, Stored } from "./history.ts";

/**
 * Ways to falsify a history. Each changes one thing, or returns undefined if there is nothing to
 * change.
 */
export const TAMPERINGS: Readonly<Record<string, (history: History, random: Random) => History | undefined>> = {
  "an acknowledged message is lost": (history, random) => {
    const lost = random.below(history.stored.length);
    return { ...history, stored: history.stored.filter((_, index) => index !== lost) };
  },
  "a message is stored twice": (history, random) => {
    const twice = random.pick(history.stored);
    const id = `${history.stored.at(-1)!.id}x`;
    return { ...history, stored: [...history.stored, { ...twice, id }] };
  },
  "a reader misses a message": (history, random) =>
    changeReads(history, random, (reads, place) => reads.filter((_, index) => index !== place)),
  "a reader gets a message twice": (history, random) =>
    changeReads(
      history,
      random,
      (reads, place) => reads.flatMap((read, index) => index === place ? [read, read] : [read]),
    ),
  "a reader gets two messages in the wrong order": (history, random) =>
    changeReads(history, random, (reads, place) => {
      const swapped = [...reads];
      [swapped[place], swapped[place + 1]] = [reads[place + 1]!, reads[place]!];
      return swapped;
    }),
  "a reader stops before the end": (history, random) =>
    changeReads(history, random, (reads, place) => reads.slice(0, place)),
  "two messages of a node are stored in the wrong order": (history, random) => {
    const [, log] = random.pick([...history.logs]);
    const sure = confirmedPublishesOf(log);
    if (sure.length < 2) return undefined;
    const place = random.below(sure.length - 1);
    return exchange(history, sure[place]!, sure[place + 1]!);
  },
};

/** Lets two messages change places, for all who have seen them. */
function exchange(history: History, one: Stored, other: Stored): History {
  const { payload: { publisher, number } } = one;
  const isOne = (payload: Payload) => payload.publisher === publisher && payload.number === number;
  const place = <Message extends Stored>(message: Message): Message => {
    if (message.id !== one.id && message.id !== other.id) return message;
    return { ...message, payload: message.id === one.id ? other.payload : one.payload };
  };
  const logs = [...history.logs].map(([node, log]) => {
    const changed = log.map((entry) => {
      if (entry.kind === "read") return place(entry);
      if (entry.kind !== "ok" || place(entry) === entry) return entry;
      return { ...entry, id: isOne(entry.payload) ? other.id : one.id };
    });
    return [node, changed] as const;
  });
  return { ...history, logs: new Map(logs), stored: history.stored.map(place) };
}

/** Changes the reads of a reader's last generation at a place that is not its last. */
function changeReads(
  history: History,
  random: Random,
  change: (reads: LogEntry[], place: number) => LogEntry[],
): History | undefined {
  const [node, log] = random.pick([...history.logs]);
  const reader = `${node}.0`;
  const isOwn = (entry: LogEntry) => "reader" in entry && entry.reader === reader;
  const begin = log.findLastIndex((entry) => entry.kind === "subscribe" && isOwn(entry) && entry.after === null);
  const others = log.slice(0, begin + 1);
  const own = log.slice(begin + 1).filter(isOwn);
  const rest = log.slice(begin + 1).filter((entry) => !isOwn(entry));
  if (own.length < 3 || own.some(({ kind }) => kind !== "read")) return undefined;
  const changed = change(own, random.below(own.length - 1));
  return { ...history, logs: new Map(history.logs).set(node, [...others, ...changed, ...rest]) };
}
