/** The log entries of a consumer. */
import { describeError, log } from "../../log/log.ts";
import type { ConsumerName } from "./record.ts";

export class ConsumerLog {
  readonly #consumer: ConsumerName;

  constructor(consumer: ConsumerName) {
    this.#consumer = consumer;
  }

  write(message: string, fields: Record<string, unknown>, level: "info" | "warn" = "warn"): void {
    const { topic, name } = this.#consumer;
    log(level, message, { topic, consumer: name, ...fields });
  }

  /** `messages` is their number, if they are of a batch. */
  failed(message_id: string, messages: number | undefined, attempt: number, error: unknown): void {
    const what = messages === undefined ? "a message" : "messages of a batch";
    const fields = { message_id, ...(messages !== undefined && { messages }), attempt, error: describeError(error) };
    this.write(`A consumer failed to handle ${what} and will retry`, fields);
  }

  lost(lost: number): void {
    if (lost > 0) this.write("A consumer lost messages, which its topic no longer keeps", { lost });
  }
}
