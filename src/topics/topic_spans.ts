/** The spans of OpenTelemetry that topics make. */
import { SpanKind, traceOf, type Tracing } from "../log/telemetry.ts";
import type { PublishResult } from "./publisher.ts";
import type { LogRef, StoredMessage } from "../store/topic_store.ts";

/** What a span about messages says (OpenTelemetry's conventions for messaging). */
export function messagingAttributes(topic: string, operation: string, type = operation): Record<string, string> {
  return {
    "messaging.system": "webfw",
    "messaging.destination.name": topic,
    "messaging.operation.name": operation,
    "messaging.operation.type": type,
  };
}

/** Makes the spans of one topic. */
export class TopicSpans {
  readonly #tracing: Tracing;
  readonly #log: LogRef;
  /**
   * What the names of spans end with: nothing where the name of the topic may come from a client.
   */
  readonly #suffix: string;

  constructor(tracing: Tracing, log: LogRef, isTransient: boolean) {
    this.#tracing = tracing;
    this.#log = log;
    this.#suffix = isTransient ? "" : ` ${log.name}`;
  }

  /**
   * Publishes a message in a span.
   *
   * @param bytes The size of its data.
   * @param publish Gets the trace that the message carries.
   */
  publish(bytes: number, publish: (trace: string) => Promise<PublishResult>): Promise<PublishResult> {
    const attributes = {
      ...messagingAttributes(this.#log.name, "publish", "send"),
      "messaging.message.body.size": bytes,
    };
    return this.#tracing.run(`publish${this.#suffix}`, { kind: SpanKind.PRODUCER, attributes }, async (span) => {
      const result = await publish(traceOf(span));
      span.setAttribute("messaging.message.id", result.id);
      return result;
    });
  }

  /**
   * Notes that messages were read for subscribers, with links to their publishers. It is one span
   * for all subscribers of this process: one for each would be as many as messages and subscribers
   * together.
   */
  noteReceived(messages: readonly StoredMessage[], startTime: number): void {
    if (!messages.some(({ trace }) => trace !== undefined)) return;
    const options = {
      kind: SpanKind.CONSUMER,
      attributes: {
        ...messagingAttributes(this.#log.name, "receive"),
        "messaging.batch.message_count": messages.length,
      },
      links: messages.map(({ trace }) => trace),
    };
    this.#tracing.note(`receive${this.#suffix}`, options, startTime);
  }
}
