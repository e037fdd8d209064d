/** Webhooks that an application sends, as programs use them. */
import type { Schema } from "../schema/schema.ts";
import type { SqlTransaction } from "../store/topic_store.ts";

/** @ignore What a webhook sends, and its documentation. */
export interface WebhookOptions<Data = unknown, Input = Data> {
  /** The schema of the JSON body. Its output is sent. */
  body: Schema<Input, Data>;
  /** A summary in one line. */
  summary?: string;
  /** The description, in Markdown. */
  description?: string;
  /** The groups of the document to which it belongs. */
  tags?: readonly string[];
}

/** How one webhook is sent. */
export interface SendWebhookOptions {
  /**
   * The secret that is shared with the receiver: base64, perhaps after `whsec_`. Of an array, each
   * signs, while one replaces the other. It is stored encrypted, with a key in the records of the
   * application.
   */
  secret: string | readonly string[];
  /**
   * The id of the message, for the header `webhook-id`: visible ASCII without a dot. A webhook that
   * is sent to the same URL with the same id again, within a day, is sent once.
   *
   * @default {crypto.randomUUID()}
   */
  id?: string;
  /**
   * An open transaction of the database that stores the topics: the webhook is sent if it commits.
   */
  transaction?: SqlTransaction;
}

/**
 * What became of a webhook that was sent to one URL, as of its last try.
 *
 * @category Topics
 */
export interface WebhookDelivery {
  /** The id of the message. */
  readonly id: string;
  /** Where it was sent. */
  readonly url: string;
  /**
   * `retrying` after a failed try that another one follows, `failed` after the last one or a 410.
   */
  readonly state: "delivered" | "retrying" | "failed";
  /** From 1. */
  readonly attempt: number;
  /** The time of the last try. */
  readonly at: Date;
  /** The status of the answer; undefined if none came. */
  readonly status: number | undefined;
  /** The first 64 KiB of the body of the answer, as text. */
  readonly answer: string;
  /** Why the try failed; undefined if it did not. */
  readonly error: string | undefined;
}

/**
 * A webhook that the application sends to URLs of others, such as those that partners register.
 * Declare it by `app.webhook(name, { body })`, which also documents it.
 *
 * It is posted as JSON from a durable topic, by one of all nodes, signed as by Standard Webhooks.
 * The receiver has 10 seconds for a status of 200 to 299. After any other one, or none, it is sent
 * again after about 1 minute, 15 minutes, 3 hours and 18 hours, also over restarts; 410 ends the
 * tries. A receiver can get it twice: the header `webhook-id` stays the same.
 *
 * @example An order that was paid
 * ```ts
 * import { App } from "@webfw/core";
 * import { signed } from "@webfw/core/auth";
 * import { TestClient } from "@webfw/core/testing";
 * import { assertEquals } from "@std/assert";
 * import * as v from "valibot";
 *
 * const Paid = v.pipe(v.object({ order: v.number() }), v.title("Paid"));
 * const app = new App({ topics: ":memory:" });
 * const paid = app.webhook("order.paid", { body: Paid });
 *
 * // The receiver, perhaps in another program.
 * const secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
 * const receiver = new App();
 * const sender = signed({ scheme: "standard", secret });
 * receiver.post("/hooks", { deps: { sender }, body: Paid }, async (_request, { body }) => `Thanks for ${body.order}`);
 *
 * await using client = new TestClient(app, { webhooks: receiver.fetch });
 * const { id } = await paid.send("https://partner.example/hooks", { order: 7 }, { secret });
 * await app.consumers.idle();
 * const [delivery] = await Array.fromAsync(paid.deliveries({ id }));
 * assertEquals([delivery?.state, delivery?.status, delivery?.answer], ["delivered", 200, '"Thanks for 7"']);
 * ```
 *
 * @category Topics
 */
export interface Webhook<Input = unknown> {
  /** Its name, such as `order.paid`. */
  readonly name: string;

  /**
   * Stores the webhook, and sends it then. Before the application has started, it waits for the
   * start.
   *
   * @param url An absolute URL of http or https, without user and password.
   * @param data JSON that fits the schema.
   * @param options The secret, and the id or a transaction.
   * @returns The id of the message.
   * @throws {TypeError} If the URL, the data or an option is wrong; or as `publish` of a topic does
   * with a transaction.
   * @throws {RangeError} If the data is too large for the store.
   * @throws {Error} As `publish` of a topic does.
   */
  send(url: string | URL, data: Input, options: SendWebhookOptions): Promise<{ readonly id: string }>;

  /**
   * What became of webhooks that have been tried, for a week after the last try; in any order.
   *
   * @param filter Those with this `id`, or to this `url`. Without a `url`, it reads all of this
   * webhook.
   * @throws {TypeError} If the URL is wrong, or an option is unknown.
   */
  deliveries(
    filter?: { readonly id?: string; readonly url?: string | URL },
  ): AsyncGenerator<WebhookDelivery, void, void>;
}
