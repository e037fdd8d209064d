/** Messages that have failed for good: published as dead letters, or stored for operators. */
import { errorText } from "../../log/log_text.ts";
import { countBytes } from "../../base/json_data.ts";
import { describeError, log } from "../../log/log.ts";
import type { RecordStore } from "../../store/record_store.ts";
import { type DeadLetter, isDiscard } from "../../topics/consume_options.ts";
import type { Cursor, StoredMessage } from "../../store/topic_store.ts";
import { toId } from "../../topics/message.ts";
import type { Delivery } from "./delivery.ts";
import { type ConsumerName, failureKey } from "./record.ts";

export interface Failure {
  readonly id: string;
  readonly error: string;
  readonly attempts: number;
  /** When it was stored, by the clock of the node; earlier releases did not store it. */
  readonly time?: number;
  /** The hash of its key, if the consumer has keys. */
  readonly key?: string | undefined;
}

export interface DeadLetterTopic {
  readonly name: string;
  /** The size limit of a message, in bytes. */
  readonly maxBytes: number;
  publish(letter: DeadLetter, options: { readonly id: string }, trace: string | undefined): Promise<unknown>;
  /** The message of a letter; undefined if it is not there, or not whole. */
  read?(letter: Cursor, at: Cursor): Promise<StoredMessage | undefined>;
}

export interface FailuresOptions {
  readonly consumer: ConsumerName;
  readonly records: RecordStore;
  readonly deadLetter: DeadLetterTopic | undefined;
  readonly attempts: number;
}

/** How many stay when a node deletes the oldest. */
const MAX_FAILURES = 10_000;
/** How many a node stores between two deletions. */
const MAX_MORE_FAILURES = 1_000;
const MAX_REASONS = 1_000;

interface Reason {
  readonly error: string;
  readonly attempts: number;
}

/** A dead letter if the consumer has a topic for them, else a stored failure. */
export class Failures {
  readonly #options: FailuresOptions;
  /** Why messages must be parked that could not be, by their ids. */
  readonly #reasons = new Map<string, Reason>();
  #trimming: Promise<void> | undefined;
  #untilTrim = 1;

  constructor(options: FailuresOptions) {
    this.#options = options;
  }

  /**
   * Parks a message. Doing so twice does no harm.
   *
   * @param error Undefined if an earlier call with the cause could not park the message.
   * @param lastError Of the consumer, for a process that does not know the cause.
   * @returns Whether it is parked. If not, try again.
   */
  async park(delivery: Delivery, incarnation: string, error: unknown, lastError: string | undefined): Promise<boolean> {
    const id = toId(incarnation, delivery.at);
    const hasMore = error !== undefined && !(isDiscard(error) && error.cause === undefined);
    const description = hasMore ? describeError(error) : undefined;
    const known = this.#reasons.get(id);
    const reason: Reason = error === undefined
      ? known ?? { error: lastError ?? "unknown", attempts: this.#options.attempts }
      : { error: errorText(error), attempts: delivery.attempt };
    try {
      const isSent = this.#options.deadLetter !== undefined && await this.#send(delivery, id, reason);
      if (!isSent) await this.#keep(delivery, id, reason);
      this.#reasons.delete(id);
      log("error", "A message was given up", {
        ...this.#fieldsOf(id),
        attempts: reason.attempts,
        dead_letter: isSent ? this.#options.deadLetter!.name : undefined,
        error: description ?? reason.error,
      });
      return true;
    } catch (cause) {
      if (this.#reasons.size < MAX_REASONS) this.#reasons.set(id, reason);
      const fields = { ...this.#fieldsOf(id), error: describeError(cause), failure: description };
      log("error", "A message could not be given up and will be retried", fields);
      return false;
    }
  }

  /** Deletes the failure of a message that was handled after all. */
  async forget(id: string): Promise<void> {
    await this.#options.records.delete(failureKey(this.#options.consumer, id), {});
  }

  async settled(): Promise<void> {
    await this.#trimming;
  }

  /** False if its topic can never take the letter. */
  async #send({ message, letter: earlier }: Delivery, id: string, { error, attempts }: Reason): Promise<boolean> {
    const { consumer: { topic, name }, deadLetter } = this.#options;
    const { type = null, data } = message!.message;
    const letter: DeadLetter = { topic, consumer: name, id, type, data, error, attempts };
    const short: DeadLetter = { ...letter, data: null, truncated: true };
    // Its topic refuses the id of the letter that was redelivered.
    const letterId = `${topic}/${name}/${earlier === undefined ? id : await nameOf(id, earlier)}`;
    const fits = countBytes(JSON.stringify(letter)) <= deadLetter!.maxBytes;
    for (const form of fits ? [letter, short] : [short]) {
      try {
        await deadLetter!.publish(form, { id: letterId }, message!.trace);
        return true;
      } catch (cause) {
        // The schema refuses it, or it is too large or nested too deeply.
        if (!(cause instanceof TypeError) && !(cause instanceof RangeError)) throw cause;
        const fields = { ...this.#fieldsOf(id), error: describeError(cause) };
        if (form === short) log("error", "A dead letter was refused by its topic, and is kept instead", fields);
      }
    }
    return false;
  }

  async #keep({ key }: Delivery, id: string, { error, attempts }: Reason): Promise<void> {
    const { consumer, records } = this.#options;
    const failure: Failure = { id, error, attempts, time: Date.now(), ...(key !== undefined && { key }) };
    await records.set(failureKey(consumer, id), JSON.stringify(failure), {});
    this.#untilTrim--;
    this.#trimming ??= this.#deleteWhileDue().finally(() => this.#trimming = undefined);
  }

  #fieldsOf(id: string) {
    const { topic, name } = this.#options.consumer;
    return { topic, consumer: name, message_id: id };
  }

  async #deleteWhileDue(): Promise<void> {
    while (this.#untilTrim <= 0) {
      this.#untilTrim = MAX_MORE_FAILURES;
      try {
        await this.#deleteOldest();
      } catch {
        // The next round tries again.
      }
    }
  }

  async #deleteOldest(): Promise<void> {
    const { consumer, records } = this.#options;
    const ids: string[] = [];
    for await (const { key } of records.list(failureKey(consumer))) ids.push(key.at(-1)!);
    // The ids of one log sort in the order of its messages.
    const oldest = ids.sort().slice(0, -MAX_FAILURES);
    if (oldest.length === 0) return;
    const fields = { topic: consumer.topic, consumer: consumer.name, failures: oldest.length };
    log("warn", "The oldest failures of a consumer are deleted", fields);
    for (const id of oldest) await records.delete(failureKey(consumer, id), {});
  }
}

/** Of the length of an id, and the same for the same letter. */
async function nameOf(id: string, letter: Cursor): Promise<string> {
  const hash = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(`${id} ${letter}`));
  return new Uint8Array(hash).toHex().slice(0, id.length);
}
