/**
 * The keys of the store, all under `webfw 1`, in their order:
 *
 * | key                   | value                                                                                      |
 * | --------------------- | ------------------------------------------------------------------------------------------ |
 * | epoch                 | the life of the database                                                                   |
 * | epoch life            | nothing; it is there in that life alone                                                    |
 * | id name id            | the message of an id                                                                       |
 * | log name version      | a frame: the messages of one write                                                         |
 * | log name head         | the life of the log then; its version is that of the newest frame                          |
 * | log name ids          | nothing; its version is that of the newest write with ids                                  |
 * | log name low          | the place of the newest message that was removed                                           |
 * | log name series key   | the messages without an id of that series' last batch; or that it must not bring any more  |
 * | log bell n            | the name of the log of this bell's share that was appended to last                         |
 * | policy name           | what the log keeps, for the trimmer                                                        |
 * | trimmer               | who removes what is no longer kept                                                         |
 *
 * A log's head and low come after its frames, so that one reading up to the end of a log finds them, too, as of the same moment.
 *
 * A database writes whole pages, each of which costs a write about 2 %. So what a write changes lies side by side: the end of its log,
 * the newest batch, and, for the last log, the bells.
 */
import type { Cursor } from "../store.ts";
import type { KvKey } from "./engine.ts";

const ROOT = ["webfw", "1"] as const;

/** How many bells there are. With the epoch they are as many keys as can be watched at once. */
export const BELLS = 9;

/** The life of the database. */
export const EPOCH_KEY: KvKey = [...ROOT, "epoch"];
/** Who removes what is no longer kept. */
export const TRIMMER_KEY: KvKey = [...ROOT, "trimmer"];
/** Before the policies. */
export const POLICIES_START: KvKey = [...ROOT, "policy", ""];
/** After the policies. */
export const POLICIES_END: KvKey = [...ROOT, "policy "];

/** What is there in one life of the database alone. */
export function lifeKey(life: string): KvKey {
  return [...EPOCH_KEY, life];
}

/** A bell. */
export function bellKey(bell: number): KvKey {
  return [...ROOT, "log bell", `${bell}`];
}

/** What a log keeps. */
export function policyKey(name: string): KvKey {
  return [...ROOT, "policy", name];
}

/** What the frames of a log have in common. */
export function framesPrefix(name: string): KvKey {
  return [...ROOT, "log", name];
}

/** Where reading after a place begins: at its frame, or after it where the place is its end. */
export function frameKeyAfter(name: string, place: Cursor): KvKey {
  const version = place.slice(0, VERSION_LENGTH);
  return [...framesPrefix(name), place.endsWith(LAST_INDEX) ? `${version} ` : version];
}

/** The newest frame of a log. */
export function headKey(name: string): KvKey {
  return [...framesPrefix(name), "head"];
}

/** Where a log begins. */
export function lowKey(name: string): KvKey {
  return [...framesPrefix(name), "low"];
}

/** After all of a log. */
export function logEnd(name: string): KvKey {
  return [...framesPrefix(name), "low "];
}

/** The messages without an id of the last batch of a series. */
export function seriesKey(name: string, series: string): KvKey {
  return [...framesPrefix(name), "series", series];
}

/** The message of an id. */
export function idKey(name: string, id: string): KvKey {
  return [...ROOT, "id", name, id];
}

/** The newest write of a log that had ids. */
export function idsKey(name: string): KvKey {
  return [...framesPrefix(name), "ids"];
}

/** A version begins the place of each of its messages. */
export const VERSION_LENGTH = 20;
/** The index of the last message of a frame, however many there are: who has come there need not read the frame again. */
const LAST_INDEX = "ff";

/** The place of a message: the version of its frame, and its index there. */
export function toCursor(version: string, index: number, count: number): Cursor {
  return version + (index === count - 1 ? LAST_INDEX : index.toString(16).padStart(2, "0"));
}

/** The place of the last message of a frame. */
export function endOf(version: string): Cursor {
  return version + LAST_INDEX;
}

/** A number of 32 bits that is another one for about every text: FNV-1a, with the bits mixed as MurmurHash does. */
export function hashOf(text: string): number {
  let hash = 0x811c9dc5;
  for (let index = 0; index < text.length; index++) hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193);
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return (hash ^ (hash >>> 16)) >>> 0;
}
