/**
 * Scheduled messages in records, until they are published:
 *
 * | key                                          | value                                           |
 * | -------------------------------------------- | ----------------------------------------------- |
 * | scheduled, topic, hash of the id             | the message, its time, and who publishes it; or |
 * |                                              | a placeholder, which means that there is none   |
 * | due, day, hour, minute, second, topic, hash  | an index by time, which may be left over        |
 * | due begin                                    | all messages that were due before are published |
 * | due claim, time                              | a node publishes the messages of others         |
 * | due position                                 | the position in the log of scheduled messages   |
 *
 * The index is written before the message, and deleted after it. A node deletes an entry only if it
 * is the one that the node has read: another message may have the id and the time meanwhile.
 *
 * A node that moves a message from the log of scheduled messages may be slow, and others may have
 * moved it, and published or cancelled it meanwhile. So it writes a placeholder, checks that the
 * position is still before the message, and replaces the placeholder by its version. A message is
 * removed only when the position is behind it: so either the position or the version has changed.
 */
import { countBytes } from "../../base/json_data.ts";
import { nodeCrypto } from "../../base/runtime.ts";
import type { ListedRecord, RecordKey, RecordStore, StoredRecord } from "../../store/record_store.ts";
import { decodePolicy, encodePolicy, type LogPosition, type LogRef, type NewMessage } from "../../store/topic_store.ts";
import { keyOfSecond, type Period } from "./times.ts";

const MESSAGES = "scheduled";
const DUE = "due";
const BEGIN: RecordKey = ["due begin"];
const CLAIM = "due claim";
const POSITION: RecordKey = ["due position"];

/** The limit of a record in bytes. */
const MAX_BYTES = 60 * 1024;

/** A placeholder expires. Then the node that has written it begins again. */
const PLACEHOLDER_MS = 2 * 60_000;
const PLACEHOLDER_BEGIN = '{"none":';

/** In milliseconds since 1970. */
export type Time = number;

/** The index entry of a message. */
export interface DueEntry {
  readonly topic: string;
  /** The hash of the id: an id may be too long for a key. */
  readonly hash: string;
  readonly at: Time;
  /** The node that has scheduled it, and the how manieth of this node it is. */
  readonly node: string;
  readonly number: number;
}

export interface ListedEntry extends DueEntry {
  readonly version: string;
}

/** The node that publishes a message: it can no longer be cancelled. */
export interface Taking {
  readonly node: string;
  /** When the first node took it. */
  readonly at: Time;
}

export type MessageToSchedule = Pick<NewMessage, "id" | "type" | "data" | "bytes" | "trace">;

export interface ScheduledRecord extends DueEntry {
  readonly log: LogRef;
  readonly message: MessageToSchedule;
  readonly taken: Taking | undefined;
}

interface StoredMessage extends Pick<DueEntry, "at" | "node" | "number"> {
  readonly id: string;
  readonly type?: string;
  readonly trace?: string;
  readonly policy: string;
  readonly taken?: Taking;
  readonly data: unknown;
}

export type Versioned<Value> = StoredRecord<Value>;

export class ScheduledRecords {
  readonly #records: RecordStore;

  constructor(records: RecordStore) {
    this.#records = records;
  }

  /** Undefined if no message was ever scheduled. */
  async begin(): Promise<Versioned<Time> | undefined> {
    const record = await this.#records.get(BEGIN);
    return record ? { value: JSON.parse(record.value), version: record.version } : undefined;
  }

  async setBegin(time: Time, expect: string | null): Promise<void> {
    await this.#records.set(BEGIN, JSON.stringify(time), { expect });
  }

  /** In the log of messages that were scheduled in transactions. */
  async position(): Promise<Versioned<LogPosition> | undefined> {
    const record = await this.#records.get(POSITION);
    return record ? { value: JSON.parse(record.value), version: record.version } : undefined;
  }

  /** Whether the position was as expected. */
  async setPosition(position: LogPosition, expect: string | null): Promise<boolean> {
    return await this.#records.set(POSITION, JSON.stringify(position), { expect }) !== null;
  }

  async find({ topic, hash }: Pick<DueEntry, "topic" | "hash">): Promise<Versioned<ScheduledRecord> | undefined> {
    const record = await this.#records.get(messageKey(topic, hash));
    if (!record || isPlaceholder(record.value)) return undefined;
    return { value: decode(topic, hash, record.value), version: record.version };
  }

  /** Returns the message that has the id now: this one, or an earlier one. */
  async add(scheduled: ScheduledRecord): Promise<ScheduledRecord> {
    const { topic, hash } = scheduled;
    const key = messageKey(topic, hash);
    await this.setEntry(scheduled);
    for (let expect: string | null = null;;) {
      if (await this.#records.set(key, encode(scheduled), { expect }) !== null) return scheduled;
      const found = await this.#records.get(key);
      if (found && !isPlaceholder(found.value)) return decode(topic, hash, found.value);
      expect = found?.version ?? null;
    }
  }

  /** Returns the version of a placeholder, or the message that has the id. */
  async reserve({ topic, hash }: DueEntry): Promise<string | ScheduledRecord> {
    const key = messageKey(topic, hash);
    for (;;) {
      const options = { expect: null, expiresIn: PLACEHOLDER_MS };
      const version = await this.#records.set(key, newPlaceholder(), options);
      if (version !== null) return version;
      const found = await this.#records.get(key);
      if (found) return isPlaceholder(found.value) ? found.version : decode(topic, hash, found.value);
    }
  }

  /** Replaces a placeholder. Returns whether it had the version. The index has no entry yet. */
  async place(scheduled: ScheduledRecord, expect: string): Promise<boolean> {
    const { topic, hash } = scheduled;
    return await this.#records.set(messageKey(topic, hash), encode(scheduled), { expect }) !== null;
  }

  async setEntry(entry: DueEntry): Promise<void> {
    const { at, node, number } = entry;
    await this.#records.set(dueKey(entry), JSON.stringify([at, node, number]), {});
  }

  /** The new version; null if another node was quicker. */
  async take(scheduled: ScheduledRecord, taken: Taking, expect: string): Promise<string | null> {
    const { topic, hash } = scheduled;
    return await this.#records.set(messageKey(topic, hash), encode({ ...scheduled, taken }), { expect });
  }

  /** Whether it had the version. */
  async cancel(scheduled: DueEntry, expect: string): Promise<boolean> {
    const key = messageKey(scheduled.topic, scheduled.hash);
    const placeholder = newPlaceholder();
    const version = await this.#records.set(key, placeholder, { expect, expiresIn: PLACEHOLDER_MS });
    // The reply to the write may have been lost.
    if (version === null && (await this.#records.get(key))?.value !== placeholder) return false;
    await this.removeEntry(scheduled);
    return true;
  }

  /** Of a message that is published. */
  async remove(scheduled: DueEntry, expect: string): Promise<void> {
    await this.#records.delete(messageKey(scheduled.topic, scheduled.hash), { expect });
    await this.removeEntry(scheduled);
  }

  /** Removes the entry of a message, unless another message has it. */
  async removeEntry(entry: DueEntry): Promise<void> {
    const key = dueKey(entry);
    const found = await this.#records.get(key);
    if (!found) return;
    const { node, number } = toEntry({ key, ...found });
    if (node === entry.node && number === entry.number) await this.#records.delete(key, { expect: found.version });
  }

  async removeListed(entry: ListedEntry): Promise<void> {
    await this.#records.delete(dueKey(entry), { expect: entry.version });
  }

  async *due({ key }: Period): AsyncGenerator<ListedEntry, void, void> {
    for await (const record of this.#records.list([DUE, ...key])) yield toEntry(record);
  }

  /** Of one topic, or of all. */
  async *all(topic?: string): AsyncGenerator<Versioned<ScheduledRecord>, void, void> {
    for await (
      const { key, value, version } of this.#records.list(topic === undefined ? [MESSAGES] : [MESSAGES, topic])
    ) {
      if (!isPlaceholder(value)) yield { value: decode(key[1]!, key[2]!, value), version };
    }
  }

  /** Whether no other node has the claim. It ends by itself. */
  async claim({ key }: Period, node: string, ms: number): Promise<boolean> {
    const claim = [CLAIM, ...key];
    if (await this.#records.set(claim, JSON.stringify(node), { expect: null, expiresIn: ms }) !== null) return true;
    const holder = await this.#records.get(claim);
    return holder !== null && JSON.parse(holder.value) === node;
  }
}

export async function countScheduled(records: RecordStore, topic: string): Promise<number> {
  let count = 0;
  for await (const { value } of records.list([MESSAGES, topic])) if (!isPlaceholder(value)) count++;
  return count;
}

export function hashOfId(id: string): string {
  return nodeCrypto().createHash("sha256").update(id).digest("base64url");
}

/**
 * @param maxBytes Of a message of the topic.
 * @throws {RangeError} If it is larger, or a record is too small for it.
 */
export function checkScheduledSize(scheduled: ScheduledRecord, maxBytes: number): void {
  // For the node that will publish it.
  const taken: Taking = { node: scheduled.node, at: scheduled.at };
  const most = Math.min(maxBytes, MAX_BYTES - countBytes(encode({ ...scheduled, taken })) + scheduled.message.bytes);
  if (scheduled.message.bytes <= most) return;
  throw new RangeError(
    `Cannot publish to the topic "${scheduled.topic}": the message has ${scheduled.message.bytes} bytes of JSON, and one that is published later may have ${most}, keep its data elsewhere and publish where`,
  );
}

function messageKey(topic: string, hash: string): RecordKey {
  return [MESSAGES, topic, hash];
}

function dueKey({ at, topic, hash }: Pick<DueEntry, "at" | "topic" | "hash">): RecordKey {
  return [DUE, ...keyOfSecond(at), topic, hash];
}

function newPlaceholder(): string {
  return `${PLACEHOLDER_BEGIN}"${crypto.randomUUID()}"}`;
}

function isPlaceholder(value: string): boolean {
  return value.startsWith(PLACEHOLDER_BEGIN);
}

function toEntry({ key, value, version }: ListedRecord<string>): ListedEntry {
  const [at, node, number] = JSON.parse(value) as readonly [Time, string, number];
  return { topic: key.at(-2)!, hash: key.at(-1)!, at, node, number, version };
}

function encode({ at, node, number, log, message, taken }: ScheduledRecord): string {
  const { id, type, trace, data } = message;
  const head: Omit<StoredMessage, "data"> = {
    ...{ at, node, number, id, policy: encodePolicy(log.policy) },
    ...(type !== undefined && { type }),
    ...(trace !== undefined && { trace }),
    ...(taken && { taken }),
  };
  return `${JSON.stringify(head).slice(0, -1)},"data":${data}}`;
}

function decode(topic: string, hash: string, value: string): ScheduledRecord {
  const { at, node, number, id, type, trace, policy, taken, data: parsed } = JSON.parse(value) as StoredMessage;
  const data = JSON.stringify(parsed);
  return {
    ...{ topic, hash, at, node, number, taken },
    log: { name: topic, policy: decodePolicy(policy) },
    message: { id, type, trace, data, bytes: countBytes(data) },
  };
}
