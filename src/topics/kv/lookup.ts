/** Looks whether messages are stored already. */
import { type SeriesPlace, toSeriesPlace } from "../series_id.ts";
import type { Batch, Pending } from "./batch.ts";
import { KEYS_PER_READ, type KvCheck, type KvEngine, type KvEntry, type KvSet } from "./engine.ts";
import { EPOCH_KEY, idKey, idsKey, seriesKey } from "./keys.ts";
import { encodeEnd, outcomeOfId, placeInSeries } from "./records.ts";

/** A message that is published again by the id that it had in a series. */
interface Recalled extends SeriesPlace {
  readonly pending: Pending;
}

/** What is remembered of a series, and the life of the database. */
export interface BatchState {
  /** The life of the database. */
  readonly life: KvEntry | undefined;
  /** The version of what is remembered of the series; null where nothing is. */
  readonly version: string | null;
}

/** What is known of a log's writes with ids, and the life of the database. */
export interface IdsState {
  /** The life of the database, as each reading has found it. */
  readonly lives: readonly (KvEntry | undefined)[];
  /** The version of the newest write with ids as of when all were read; null where there is none, undefined where it changed meanwhile. */
  readonly newest: string | null | undefined;
}

/** Looks whether messages without an id are stored already, and notes it in the batch. */
export async function findBatch(batch: Batch, engine: KvEngine): Promise<BatchState> {
  const [life, stored] = await engine.get([EPOCH_KEY, seriesKey(batch.log.name, batch.series)]);
  for (const waiting of stored ? batch.pending : []) {
    if (waiting.message.id !== undefined) continue;
    const place = placeInSeries(stored!, batch.first + waiting.index);
    // Somebody has published one of them again, and made sure that the series brings none.
    if (place === "none") batch.split();
    else if (place !== undefined) waiting.outcome = { cursor: place, duplicate: false };
  }
  return { life, version: stored?.version ?? null };
}

/**
 * Looks which messages are stored already, by their ids, and notes it in them.
 *
 * @param batch The batch.
 * @param sought Messages of it that have ids.
 * @param engine The database.
 * @param newest The version of the newest write with ids, where that is known before; it is read otherwise.
 */
export async function findIds(
  batch: Batch,
  sought: readonly Pending[],
  engine: KvEngine,
  newest: string | undefined,
): Promise<IdsState> {
  const { log: { name } } = batch;
  const guard = newest === undefined ? [idsKey(name)] : [];
  const perRead = KEYS_PER_READ - 1 - guard.length;
  const versions = new Set<string | null>(newest === undefined ? [] : [newest]);
  const lives = await inParts(sought, perRead, async (some) => {
    const keys = some.map((pending) => idKey(name, batch.idOf(pending)!));
    const [life, ...entries] = await engine.get([EPOCH_KEY, ...keys, ...guard]);
    for (const [index, pending] of some.entries()) {
      const entry = entries[index];
      if (entry) pending.outcome = outcomeOfId(entry, batch);
    }
    if (guard.length > 0) versions.add(entries[some.length]?.version ?? null);
    return life;
  });
  const [version] = versions;
  return { lives, newest: versions.size === 1 ? version : undefined };
}

/** The messages of a batch that are published again by the ids that they had in series, by series. */
export function recalledOf({ pending }: Batch): ReadonlyMap<string, readonly Recalled[]> {
  const recalled = pending.flatMap((pending) => {
    const place = pending.message.id === undefined ? undefined : toSeriesPlace(pending.message.id);
    return place ? [{ pending, ...place }] : [];
  });
  return Map.groupBy(recalled, ({ series }) => series);
}

/**
 * Looks for messages that are published again, and notes it in them. Where their series has not brought one, it is ended: it must not
 * bring the message later, when that has been appended anew.
 *
 * @param name The name of the log.
 * @param recalled The messages, by series.
 * @param engine The database.
 * @param expireIn How long an end is remembered, in milliseconds.
 * @returns The life of the database, as each reading has found it.
 */
export function findRecalled(
  name: string,
  recalled: ReadonlyMap<string, readonly Recalled[]>,
  engine: KvEngine,
  expireIn: number,
): Promise<(KvEntry | undefined)[]> {
  return inParts([...recalled], KEYS_PER_READ - 1, async (part) => {
    const keys = part.map(([series]) => seriesKey(name, series));
    for (;;) {
      const [life, ...entries] = await engine.get([EPOCH_KEY, ...keys]);
      const checks: KvCheck[] = [];
      const sets: KvSet[] = [];
      for (const [index, [, messages]] of part.entries()) {
        const [key, entry] = [keys[index]!, entries[index]];
        if (noteRecalled(messages, entry)) continue;
        checks.push({ key, version: entry?.version ?? null });
        sets.push({ key, value: encodeEnd(entry), expireIn });
      }
      if (checks.length === 0) return life;
      await engine.write({ checks, sets });
    }
  });
}

/** Notes where messages of a series are. Gives whether it is known of all, so that the series brings none of them later. */
function noteRecalled(messages: readonly Recalled[], entry: KvEntry | undefined): boolean {
  let isKnown = true;
  for (const { pending, number } of messages) {
    const place = entry && placeInSeries(entry, number);
    if (place === undefined) isKnown = false;
    else if (place !== "none") pending.outcome = { cursor: place, duplicate: true };
  }
  return isKnown;
}

/** Asks for items part by part, at the same time; at least once. */
function inParts<Item, Result>(
  items: readonly Item[],
  size: number,
  ask: (part: readonly Item[]) => Promise<Result>,
): Promise<Result[]> {
  const parts = Math.max(1, Math.ceil(items.length / size));
  return Promise.all(Array.from({ length: parts }, (_, part) => ask(items.slice(part * size, (part + 1) * size))));
}
