/** Messages that are given up: published as dead letters, or kept for a later try. */
import { errorText } from "../../log/log_text.ts";
import { countBytes } from "../../base/json_data.ts";
import { describeError, log } from "../../log/log.ts";
import type { RecordStore } from "../../store/record_store.ts";
import { type DeadLetter, isDiscard } from "../../topics/consume_options.ts";
import { toId } from "../../topics/message.ts";
import type { Delivery } from "./in_flight.ts";
import { type ConsumerName, failureKey } from "./record.ts";

/** A message that was given up, as its record has it. */
export interface Failure {
  /** The id of the message. */
  readonly id: string;
  readonly error: string;
  readonly attempts: number;
  /** What stands for its key, if the consumer has keys. */
  readonly key?: string | undefined;
}

/** Where dead letters go. */
export interface DeadLetterTopic {
  readonly name: string;
  /** The most bytes of data that it takes. */
  readonly maxBytes: number;
  /**
   * Publishes a dead letter.
   *
   * @param trace The trace of the publisher of the message.
   */
  publish(letter: DeadLetter, options: { readonly id: string }, trace: string | undefined): Promise<unknown>;
}

export interface FailuresOptions {
  readonly consumer: ConsumerName;
  readonly records: RecordStore;
  readonly deadLetter: DeadLetterTopic | undefined;
  /** How often a message is tried. */
  readonly attempts: number;
}

/** How many failures are kept, and how many more a node keeps before it deletes the oldest. */
const MAX_FAILURES = 10_000;
const MAX_MORE_FAILURES = 1_000;
/** How many errors are remembered of messages that could not be given up yet. */
const MAX_REFUSED = 1_000;

/** What is said about a message that is given up. */
interface Reason {
  readonly error: string;
  readonly attempts: number;
}

/** Gives messages up. */
export class Failures {
  readonly #options: FailuresOptions;
  /** By the ids of messages that could not be given up yet. */
  readonly #refused = new Map<string, Reason>();
  #trimming: Promise<void> | undefined;
  /** How many failures this node may keep before it looks whether there are too many. */
  #untilTrim = 1;

  constructor(options: FailuresOptions) {
    this.#options = options;
  }

  /**
   * Gives a message up. It may be done twice, which is no harm.
   *
   * @param held The message.
   * @param incarnation That of the log.
   * @param error Why; undefined if that was said before, and it could not be given up.
   * @param lastError What is known where this process does not know the error.
   * @returns Whether it is given up. If not, that must be tried again.
   */
  async park(delivery: Delivery, incarnation: string, error: unknown, lastError: string | undefined): Promise<boolean> {
    const id = toId(incarnation, delivery.at);
    const hasMore = error !== undefined && !(isDiscard(error) && error.cause === undefined);
    const description = hasMore ? describeError(error) : undefined;
    const known = this.#refused.get(id);
    const reason: Reason = error === undefined
      ? known ?? { error: lastError ?? "unknown", attempts: this.#options.attempts }
      : { error: errorText(error), attempts: delivery.attempt };
    try {
      const isSent = this.#options.deadLetter !== undefined && await this.#send(delivery, id, reason);
      if (!isSent) await this.#keep(delivery, id, reason);
      this.#refused.delete(id);
      log("error", "A message was given up", {
        ...this.#fieldsOf(id),
        attempts: reason.attempts,
        dead_letter: isSent ? this.#options.deadLetter!.name : undefined,
        error: description ?? reason.error,
      });
      return true;
    } catch (cause) {
      if (this.#refused.size < MAX_REFUSED) this.#refused.set(id, reason);
      const fields = { ...this.#fieldsOf(id), error: describeError(cause), failure: description };
      log("error", "A message could not be given up, and this is tried again", fields);
      return false;
    }
  }

  /** Forgets a message that is done though it was given up. */
  async forget(id: string): Promise<void> {
    await this.#options.records.delete(failureKey(this.#options.consumer, id), {});
  }

  /** Waits until no failures are being deleted. */
  async settled(): Promise<void> {
    await this.#trimming;
  }

  /** Publishes a dead letter. Gives false if its topic can never take it. */
  async #send({ message }: Delivery, id: string, { error, attempts }: Reason): Promise<boolean> {
    const { consumer: { topic, name }, deadLetter } = this.#options;
    const { type = null, data } = message!.message;
    const letter: DeadLetter = { topic, consumer: name, id, type, data, error, attempts };
    const short: DeadLetter = { ...letter, data: null, truncated: true };
    const letterId = `${topic}/${name}/${id}`;
    const fits = countBytes(JSON.stringify(letter)) <= deadLetter!.maxBytes;
    for (const form of fits ? [letter, short] : [short]) {
      try {
        await deadLetter!.publish(form, { id: letterId }, message!.trace);
        return true;
      } catch (cause) {
        // Its schema refuses it, or it is too large or nested too deeply.
        if (!(cause instanceof TypeError) && !(cause instanceof RangeError)) throw cause;
        const fields = { ...this.#fieldsOf(id), error: describeError(cause) };
        if (form === short) log("error", "A dead letter was refused by its topic, and is kept instead", fields);
      }
    }
    return false;
  }

  async #keep({ key }: Delivery, id: string, { error, attempts }: Reason): Promise<void> {
    const { consumer, records } = this.#options;
    const failure: Failure = { id, error, attempts, ...(key !== undefined && { key }) };
    await records.set(failureKey(consumer, id), JSON.stringify(failure), {});
    this.#trim();
  }

  /** What entries of the log say of a message. */
  #fieldsOf(id: string) {
    const { topic, name } = this.#options.consumer;
    return { topic, consumer: name, message_id: id };
  }

  /** Deletes the oldest failures in the background each time this node has kept so many. */
  #trim(): void {
    this.#untilTrim--;
    this.#trimming ??= this.#deleteWhileDue().finally(() => this.#trimming = undefined);
  }

  async #deleteWhileDue(): Promise<void> {
    while (this.#untilTrim <= 0) {
      this.#untilTrim = MAX_MORE_FAILURES;
      try {
        await this.#deleteOldest();
      } catch {
        // It is tried again when there are as many more.
      }
    }
  }

  async #deleteOldest(): Promise<void> {
    const { consumer, records } = this.#options;
    const ids: string[] = [];
    for await (const { key } of records.list(failureKey(consumer))) ids.push(key.at(-1)!);
    // Ids of one log sort as its messages.
    const oldest = ids.sort().slice(0, -MAX_FAILURES);
    if (oldest.length === 0) return;
    const { topic, name } = consumer;
    log("warn", "The oldest failures of a consumer are deleted", { topic, consumer: name, failures: oldest.length });
    for (const id of oldest) await records.delete(failureKey(consumer, id), {});
  }
}
