/**
 * Redelivers dead letters to the consumer that has given their messages up.
 *
 * The record of the consumer has the position of the last letter that was redelivered. One write
 * moves this position and adds the messages, so that each letter is redelivered once, whatever
 * operators do at the same time, and wherever one of them is killed.
 */
import { quote } from "../base/options.ts";
import { type Cursor, LOG_START, type LogBounds, type LogRef, type TopicStore } from "../store/topic_store.ts";
import type { StoredMessage } from "../store/topic_store.ts";
import type { DeclaredConsumer } from "../topics/consume_options.ts";
import type { Redelivery } from "../topics/consumers.ts";
import { toId, toPosition } from "../topics/message.ts";
import type { CheckedData } from "../topics/topic_log.ts";
import type { Topics } from "../topics/topics.ts";
import { readLetter } from "./consumers/letter.ts";
import { ReadMessage } from "./consumers/log_window.ts";
import {
  consumerKey,
  type ConsumerState,
  decodeState,
  pageKey,
  type PendingMessage,
  type Redriven,
} from "./consumers/record.ts";
import { changeState, findPresent, pathOf, type Place, writePages } from "./operate.ts";

/** How many messages one write adds at most. */
const MAX_MESSAGES = 2_048;
/** So many pages leave enough space in the record for the messages in flight. */
const MAX_PAGES = 400;
const READ_LIMITS = { maxMessages: 256, maxBytes: 1024 * 1024 };

interface LetterTopic extends LogRef {
  readonly store: TopicStore;
}

/** Some letters, in their order. */
interface Letters {
  readonly pending: readonly PendingMessage[];
  readonly gone: readonly string[];
  /** The id of the last letter that was read. */
  readonly end: string;
}

/** @throws {TypeError} If the topic of the dead letters is not known. */
export async function redriveLetters(topics: Topics, place: Place): Promise<Redelivery> {
  const { declared, target } = checkDeclared(place);
  const letterTopic = openTopic(topics, target);
  // What fails again meanwhile is left for the next time.
  const until = await letterTopic.store.bounds(letterTopic);
  const redelivered = { count: 0, gone: [] as string[] };
  for (;;) {
    const record = await place.records.get(consumerKey(place.consumer));
    // It has never started, so it has given up nothing.
    if (record === null) break;
    const state = decodeState(record.value);
    if (state.pages.length >= MAX_PAGES) throw tooMany(place, redelivered.count);
    const reached = state.redriven?.[target];
    const from = startOf(reached, until, letterTopic.store);
    if (from >= until.highWatermark) break;
    const letters = await readLetters(letterTopic, { from, until }, { declared, state, place });
    const { pending, gone, end } = letters;
    if (await add(place, pending, { target, reached, end })) {
      redelivered.count += pending.length;
      redelivered.gone.push(...gone);
    }
  }
  return { redelivered: redelivered.count, gone: redelivered.gone };
}

function checkDeclared(
  { declared, consumer }: Place,
): { readonly declared: DeclaredConsumer; readonly target: string } {
  const problem = `Cannot redeliver dead letters of ${quote(pathOf(consumer))}`;
  if (!declared) {
    throw new TypeError(`${problem}: this application does not declare it, use one whose consumer has deadLetter`);
  }
  const { deadLetter } = declared.options;
  if (deadLetter !== undefined) return { declared, target: deadLetter };
  throw new TypeError(`${problem}: it has no deadLetter, and its failed messages are stored, use retry`);
}

function openTopic(topics: Topics, target: string): LetterTopic {
  const found = topics.declared.find(({ name }) => name === target);
  if (found) return { name: target, policy: found.options.policy, store: topics.storeOf(found.options.isDurable) };
  throw new TypeError(`Cannot redeliver dead letters: their topic ${quote(target)} is not declared, declare it`);
}

function tooMany({ consumer }: Place, count: number): Error {
  const done = count === 0 ? "" : `, ${count} are redelivered`;
  return new Error(
    `Cannot redeliver more dead letters of ${
      quote(pathOf(consumer))
    }: too many messages wait for it${done}, try again later`,
  );
}

interface Reading {
  readonly declared: DeclaredConsumer;
  readonly state: ConsumerState;
  readonly place: Place;
}

/** @throws {Error} If the topic is lost meanwhile. */
async function readLetters(
  log: LetterTopic,
  { from, until }: { readonly from: Cursor; readonly until: LogBounds },
  { declared, state, place }: Reading,
): Promise<Letters> {
  let after = from;
  const found = new Map<Cursor, Found>();
  const gone: string[] = [];
  while (after < until.highWatermark && found.size < MAX_MESSAGES) {
    const { messages, incarnation } = await log.store.read(log, after, READ_LIMITS);
    if (incarnation !== until.incarnation) {
      throw new Error(`Cannot redeliver dead letters: their topic ${quote(log.name)} was lost meanwhile, try again`);
    }
    for (const stored of messages) {
      const letter = readLetter(stored, place.consumer);
      if (!letter) continue;
      const { incarnation, cursor: at } = toPosition(letter.id);
      const isKnown = incarnation === state.incarnation || state.former?.includes(incarnation);
      if (isKnown) found.set(at, { id: letter.id, letter: stored.cursor, message: letter.message });
      else gone.push(letter.id);
    }
    after = messages.at(-1)?.cursor ?? until.highWatermark;
  }
  const pending: PendingMessage[] = [];
  const short = [...found].filter(([, { message }]) => !message).map(([at]) => at);
  const present = await findPresent(place.store, declared.log, short);
  for (const [at, { id, letter, message = present.get(at) }] of found) {
    if (!message) gone.push(id);
    else {
      const key = await keyOf(message, state.incarnation, declared);
      pending.push({ at, attempt: 1, due: 0, crashCount: 0, node: "", key, letter });
    }
  }
  return { pending, gone, end: toId(until.incarnation, after) };
}

interface Found {
  readonly id: string;
  readonly letter: Cursor;
  readonly message: StoredMessage | undefined;
}

/** A log on disk may have been restored from a backup, together with the record. */
function startOf(
  reached: Redriven | undefined,
  { incarnation, highWatermark }: LogBounds,
  { capabilities }: TopicStore,
): Cursor {
  if (!reached) return LOG_START;
  const last = toPosition(reached[0]);
  const isKept = capabilities.durability !== "memory" && last.cursor <= highWatermark;
  return last.incarnation === incarnation || isKept ? last.cursor : LOG_START;
}

async function keyOf(
  message: StoredMessage,
  incarnation: string,
  { options: { key }, check }: DeclaredConsumer,
): Promise<string | undefined> {
  if (!key) return undefined;
  const checked: CheckedData | undefined = await check?.check(message.data);
  return new ReadMessage(message, incarnation, { keyOf: key, check }, checked).key;
}

interface Move {
  readonly target: string;
  readonly reached: Redriven | undefined;
  readonly end: string;
}

/** False if another operator has redelivered letters meanwhile. */
async function add(place: Place, pending: readonly PendingMessage[], { target, reached, end }: Move): Promise<boolean> {
  const { records, consumer } = place;
  const pages = await writePages(place, pending);
  const own: Redriven = [end, crypto.randomUUID().slice(0, 8)];
  let isOwn = false;
  await changeState(place, "redeliver dead letters of", (state) => {
    const [, write] = state.redriven?.[target] ?? [];
    // An earlier write was carried out, and its reply was lost.
    if (write === own[1]) return void (isOwn = true);
    isOwn = write === reached?.[1];
    if (!isOwn) return undefined;
    return { ...state, pages: [...state.pages, ...pages], redriven: { ...state.redriven, [target]: own } };
  });
  // The write of these pages expected an earlier version, so it is not carried out later either.
  if (!isOwn) { for (const { id } of pages) await records.delete(pageKey(consumer, id), {}); }
  return isOwn;
}
