/**
 * Records in a bucket of JetStream's key-value. The version of a record is its sequence number, and
 * a part of the random id of its write: a bucket that is restored from a backup repeats numbers.
 * Sequence numbers of a bucket begin at the time of its creation, so a new bucket does not repeat
 * them.
 *
 * All requests go to the leader of the stream. A former leader may still answer, so a read may be
 * old: but never older than what this process has seen. The leader compares the versions of writes.
 */
import { OrderedMap } from "../../base/ordered_map.ts";
import type { ListedRecord, RecordKey, RecordStore, StoredRecord } from "../record_store.ts";
import type { StoreConnection } from "../store_connection.ts";
import { UnsuitableStoreError } from "../topic_store.ts";
import { BEHIND_TIMEOUT, refusalReason, type StreamOptions } from "./log_streams.ts";
import { isRefusal, type NatsClient, textOf, unlessRefused } from "./nats_client.ts";

const WRITE_HEADER = "Webfw-Write";
/** The time at which a record is absent, in milliseconds since 1970. */
const EXPIRES_HEADER = "Webfw-Expires";
/** How many records of a list are read at a time. */
const READS = 32;
/** After so many in a row a write pauses. */
const MAX_REFUSALS = 20;
/** Sequence numbers for each millisecond since 1970: no bucket is written to as fast as that. */
const SEQS_PER_MS = 1_000;
/** How long an expired record stays beyond its time, in seconds: the clocks are not exact. */
const GRACE = 5;

const MAX_SEEN = 1_000;

/** Such a part of a key is in a subject as it is. */
const PLAIN_PART = /^[A-Za-z0-9_-]+$/;

/** Stands for the write of another program. */
const NO_WRITE = "00000000";

interface BucketMessage {
  readonly subject: string;
  readonly seq: number;
  readonly data?: string;
  readonly hdrs?: string;
}

interface Seen {
  readonly seq: number;
  /** Since when answers are older, by `performance.now()`. */
  behindSince: number | undefined;
}

interface BucketInfo {
  readonly config: {
    readonly allow_msg_ttl?: boolean;
    readonly max_msgs_per_subject: number;
    readonly num_replicas: number;
    readonly first_seq?: number;
  };
}

export class JetStreamRecords implements RecordStore {
  readonly #connection: StoreConnection<NatsClient>;
  readonly #stream: string;
  readonly #subject: string;
  readonly #replicas: number;
  readonly #seen = new OrderedMap<string, Seen>();
  #ready: NatsClient | undefined;

  constructor(connection: StoreConnection<NatsClient>, { prefix, replicas }: StreamOptions) {
    this.#connection = connection;
    this.#stream = `KV_${prefix}-records`;
    this.#subject = `$KV.${prefix}-records`;
    this.#replicas = replicas;
  }

  readonly get: RecordStore["get"] = (key) => this.#use((client) => this.#read(client, this.#subjectOf(key)));

  readonly set: RecordStore["set"] = async (key, value, { expect, expiresIn }) => {
    const subject = this.#subjectOf(key);
    const writeId = crypto.randomUUID();
    let isAgain = false;
    return await this.#use(async (client) => {
      let expected = expect === null ? 0 : undefined;
      if (typeof expect === "string") {
        const found = await this.#find(client, subject);
        if (isAgain && found && writeOf(found) === writeId) return versionOf(found);
        // It may have expired, and still be there. After a loss, another write may have its number.
        if (!found || versionOf(found) !== expect || this.#isExpired(found)) return null;
        expected = found.seq;
      }
      for (let refusals = 0;; refusals++) {
        expected ??= (await this.#find(client, subject))?.seq ?? 0;
        const headers = client.headers();
        headers.set("Nats-Expected-Last-Subject-Sequence", `${expected}`);
        headers.set(WRITE_HEADER, writeId);
        if (expiresIn !== undefined) {
          headers.set(EXPIRES_HEADER, `${Math.ceil(this.#connection.now() + expiresIn)}`);
          headers.set("Nats-TTL", `${Math.ceil(expiresIn / 1_000) + GRACE}s`);
        }
        const wasAgain = isAgain;
        isAgain = true;
        try {
          const { seq } = await client.store(subject, value, headers);
          // Another process may have written since, and this one may have read that.
          if (seq > (this.#seen.get(subject)?.seq ?? 0)) this.#remember(subject, seq);
          return toVersion(seq, writeId);
        } catch (error) {
          const isOther = isRefusal(error, "wrongLastSequence") || isRefusal(error, "wrongLastSequenceOfSeveral");
          if (!isOther || refusals === MAX_REFUSALS) throw error;
        }
        isAgain = wasAgain;
        const found = await this.#find(client, subject);
        // The reply to an earlier attempt was lost.
        if (isAgain && found && writeOf(found) === writeId) return versionOf(found);
        // A write that was refused itself may have been in the way.
        if (typeof expect === "string" && (!found || versionOf(found) !== expect)) return null;
        if (expect === null && found && !this.#isExpired(found)) return null;
        expected = found?.seq ?? 0;
      }
    }, "write");
  };

  readonly delete: RecordStore["delete"] = async (key, { expect }) => {
    const subject = this.#subjectOf(key);
    let isAgain = false;
    return await this.#use(async (client) => {
      for (;;) {
        const found = await this.#find(client, subject);
        const isPresent = found !== undefined && !this.#isExpired(found);
        // An earlier attempt may have deleted it.
        if (expect !== undefined && (!isPresent || versionOf(found) !== expect)) return isAgain && !isPresent;
        if (!found) return true;
        isAgain = true;
        try {
          await client.call(`STREAM.MSG.DELETE.${this.#stream}`, { seq: found.seq, no_erase: true });
          return true;
        } catch (error) {
          // Another process has written or deleted it.
          if (!isRefusal(error, "messageNotFound")) throw error;
          isAgain = false;
        }
      }
    }, "write");
  };

  async *list(prefix: RecordKey): AsyncGenerator<ListedRecord<string>> {
    const subject = this.#subjectOf(prefix);
    const subjects = await this.#use((client) => this.#subjects(client, `${subject}.>`));
    subjects.unshift(subject);
    for (let start = 0; start < subjects.length; start += READS) {
      const part = subjects.slice(start, start + READS);
      const records = await this.#use((client) => Promise.all(part.map((subject) => this.#read(client, subject))));
      for (const [index, record] of records.entries()) {
        if (record) yield { key: this.#keyOf(part[index]!), ...record };
      }
    }
  }

  async #subjects(client: NatsClient, filter: string): Promise<string[]> {
    const subjects = new Set<string>();
    for (let offset = 0;;) {
      const { state: { subjects: counts }, total = 0 } = await client.call<
        { state: { subjects?: Record<string, number> }; total?: number }
      >(`STREAM.INFO.${this.#stream}`, { subjects_filter: filter, offset });
      const found = Object.keys(counts ?? {});
      for (const subject of found) subjects.add(subject);
      offset += found.length;
      if (found.length === 0 || offset >= total) return [...subjects];
    }
  }

  async #read(client: NatsClient, subject: string): Promise<StoredRecord<string> | null> {
    const found = await this.#find(client, subject);
    if (!found || this.#isExpired(found)) return null;
    return { value: textOf(Uint8Array.fromBase64(found.data ?? "")), version: versionOf(found) };
  }

  async #find(client: NatsClient, subject: string): Promise<BucketMessage | undefined> {
    const request = client.call<{ message: BucketMessage }>(`STREAM.MSG.GET.${this.#stream}`, {
      last_by_subj: subject,
    });
    const found = await unlessRefused(request, "messageNotFound");
    if (found) this.#see(subject, found.message.seq);
    return found?.message;
  }

  /** @throws {Error} If the answer is older than an earlier one: another server must be asked. */
  #see(subject: string, seq: number): void {
    const seen = this.#seen.get(subject);
    if (seen && seq < seen.seq) {
      seen.behindSince ??= performance.now();
      if (performance.now() - seen.behindSince < BEHIND_TIMEOUT) {
        throw new Error("A server answers with an older record than before");
      }
    }
    this.#remember(subject, seq);
  }

  #remember(subject: string, seq: number): void {
    this.#seen.set(subject, { seq, behindSince: undefined });
    this.#seen.shrink(MAX_SEEN);
  }

  #isExpired(message: BucketMessage): boolean {
    const expires = headerOf(message, EXPIRES_HEADER);
    return expires !== undefined && Number(expires) <= this.#connection.now();
  }

  /** The bucket is created if it is missing. */
  #use<Result>(action: (client: NatsClient) => Promise<Result>, kind?: "write"): Promise<Result> {
    return this.#connection.use(
      async (client) => {
        if (this.#ready !== client) await this.#make(client);
        try {
          return await action(client);
        } catch (error) {
          // It may have been removed; without a stream, a write has no answer.
          this.#ready = undefined;
          throw error;
        }
      },
      undefined,
      kind,
    );
  }

  async #make(client: NatsClient): Promise<void> {
    // The reply also has the time of the servers.
    const info = await unlessRefused(client.call<BucketInfo>(`STREAM.INFO.${this.#stream}`), "streamNotFound");
    const config = (info ?? await this.#create(client))?.config;
    if (config && !(config.allow_msg_ttl && config.max_msgs_per_subject === 1 && config.first_seq)) {
      throw this.#unsuitable("another program has made the bucket, remove that or give topics another prefix");
    }
    if (config && config.num_replicas < this.#replicas) {
      await client.call(`STREAM.UPDATE.${this.#stream}`, { ...config, num_replicas: this.#replicas });
    }
    this.#ready = client;
  }

  /** Undefined if another process has just created it. */
  async #create(client: NatsClient): Promise<BucketInfo | undefined> {
    try {
      return await client.call<BucketInfo>(`STREAM.CREATE.${this.#stream}`, {
        name: this.#stream,
        subjects: [`${this.#subject}.>`],
        retention: "limits",
        discard: "new",
        storage: "file",
        num_replicas: this.#replicas,
        max_msgs_per_subject: 1,
        max_bytes: -1,
        first_seq: Date.now() * SEQS_PER_MS,
        allow_direct: true,
        allow_msg_ttl: true,
        allow_rollup_hdrs: true,
      });
    } catch (error) {
      if (isRefusal(error, "nameInUse")) return undefined;
      const reason = refusalReason(error);
      throw reason === undefined ? error : this.#unsuitable(reason);
    }
  }

  #unsuitable(reason: string): UnsuitableStoreError {
    return new UnsuitableStoreError(`Cannot keep records in the bucket "${this.#stream.slice(3)}": ${reason}`);
  }

  #subjectOf(key: RecordKey): string {
    return [this.#subject, ...key.map(encodePart)].join(".");
  }

  #keyOf(subject: string): RecordKey {
    return subject.slice(this.#subject.length + 1).split(".").map(decodePart);
  }
}

function encodePart(part: string): string {
  if (PLAIN_PART.test(part)) return part;
  return `=${new TextEncoder().encode(part).toBase64({ alphabet: "base64url", omitPadding: true })}`;
}

function decodePart(part: string): string {
  return part.startsWith("=") ? textOf(Uint8Array.fromBase64(part.slice(1), { alphabet: "base64url" })) : part;
}

function writeOf(message: BucketMessage): string {
  return headerOf(message, WRITE_HEADER) ?? NO_WRITE;
}

function versionOf(message: BucketMessage): string {
  return toVersion(message.seq, writeOf(message));
}

function headerOf({ hdrs }: BucketMessage, name: string): string | undefined {
  if (hdrs === undefined) return undefined;
  const line = atob(hdrs).split("\r\n").find((line) => line.startsWith(`${name}: `));
  return line?.slice(name.length + 2);
}

function toVersion(seq: number, writeId: string): string {
  return `${seq.toString(16)}-${writeId.slice(0, 8)}`;
}
