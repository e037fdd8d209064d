/** Stores webhooks in their topic, and delivers them from it. Loaded when the first is sent. */
import { checkMessageId, keysOf, readScheme, type Scheme, signedHeaders } from "../auth/signatures.ts";
import { encodeData } from "../base/json_data.ts";
import { checkOptions, type OptionNames } from "../base/options.ts";
import { describeError, log } from "../log/log.ts";
import type { Validator } from "../schema/check.ts";
import { summarizeIssues } from "../schema/issues.ts";
import type { Dataset } from "../schema/schema.ts";
import { type Records, recordsOf } from "../store/records.ts";
import { runsInCall } from "../store/topic_store.ts";
import { type ConsumerTry, Discard } from "../topics/consume_options.ts";
import type { Topic } from "../topics/topic.ts";
import type { SendWebhookOptions, WebhookDelivery } from "../topics/webhook.ts";
import { Deliveries, hashOf } from "./deliveries.ts";
import { type Answer, post } from "./post.ts";
import { openSeal, type Seal } from "./seal.ts";
import { checkTarget } from "./target.ts";

/** The data of a message in the topic. */
export interface StoredWebhook {
  readonly webhook: string;
  readonly id: string;
  readonly url: string;
  readonly body: unknown;
  /** Encrypted. */
  readonly secrets: string;
  /** Whether the application that has declared it allows addresses that are not public. */
  readonly allowPrivate: boolean;
}

export interface DeclaredWebhook {
  readonly name: string;
  readonly validator: Validator;
}

/** Answers webhooks in tests, in place of the network. */
export type WebhookReceiver = (request: Request) => Response | Promise<Response>;

export interface OutboxParts {
  readonly topic: Topic<StoredWebhook>;
  readonly records: Records;
  readonly attempts: number;
  readonly allowPrivate: boolean;
  /** Another application with the same store may have sent the webhook. */
  readonly isDeclared: (webhook: string) => boolean;
  readonly receiver: () => WebhookReceiver | undefined;
}

const SEND_OPTIONS: OptionNames<SendWebhookOptions> = { secret: true, id: true, transaction: true };
const FILTER_OPTIONS = { id: true, url: true };
const GONE = 410;

export class Outbox {
  readonly #parts: OutboxParts;
  readonly #seal: Seal;
  readonly #deliveries: Deliveries;
  readonly #scheme: Scheme = readScheme("standard", "sign a webhook");

  static async open(parts: OutboxParts): Promise<Outbox> {
    const records = recordsOf(parts.records, "webhooks");
    return new Outbox(parts, await openSeal(records), new Deliveries(records));
  }

  constructor(parts: OutboxParts, seal: Seal, deliveries: Deliveries) {
    this.#parts = parts;
    this.#seal = seal;
    this.#deliveries = deliveries;
  }

  /** In a transaction of a `DatabaseSync`, it has run, or throws, when the call returns. */
  send(
    { name, validator }: DeclaredWebhook,
    url: string | URL,
    data: unknown,
    options: SendWebhookOptions,
  ): Promise<{ readonly id: string }> {
    const action = `send the webhook "${name}"`;
    checkOptions(options, SEND_OPTIONS, action);
    const { secret, id = crypto.randomUUID(), transaction } = options;
    const { allowPrivate } = this.#parts;
    const target = checkTarget(url, allowPrivate, action).href;
    checkMessageId(id, action);
    keysOf(secret, this.#scheme, action);
    const isInCall = runsInCall(transaction);
    if (isInCall && validator.isAsync) {
      throw new TypeError(
        `Cannot ${action} in a transaction of a DatabaseSync: the schema is asynchronous, and the transaction could end before it, make the asynchronous check before the transaction begins`,
      );
    }
    const publish = (dataset: Dataset) => {
      const body = outputOf(dataset, action);
      const secrets = this.#seal.close(JSON.stringify([secret].flat()), contextOf(target, id));
      const message: StoredWebhook = { webhook: name, id, url: target, body, secrets, allowPrivate };
      // One id may go to several URLs.
      const unique = { id: hashOf(JSON.stringify([name, target, id])), type: name };
      const { topic } = this.#parts;
      const published: Promise<unknown> = "transaction" in options
        ? topic.publish(message, { ...unique, transaction: transaction! })
        : topic.publish(message, unique);
      return published.then(() => ({ id }));
    };
    const dataset = validator.validate(data);
    return dataset instanceof Promise ? dataset.then(publish) : publish(dataset);
  }

  deliveries(
    { name }: DeclaredWebhook,
    filter: { readonly id?: string; readonly url?: string | URL },
  ): AsyncGenerator<WebhookDelivery, void, void> {
    const action = `list the deliveries of the webhook "${name}"`;
    checkOptions(filter, FILTER_OPTIONS, action);
    const { id, url } = filter;
    if (id !== undefined) checkMessageId(id, action);
    // It may have been sent while it was allowed.
    return this.#deliveries.read(name, {
      id,
      url: url === undefined ? undefined : checkTarget(url, true, action).href,
    });
  }

  /** The handler of the consumer. */
  async deliver(stored: Partial<StoredWebhook> | null, { attempt, signal }: ConsumerTry): Promise<void> {
    // Another program may have written it.
    if (!isStoredWebhook(stored)) throw new Discard("Cannot deliver a webhook: its message has not all parts");
    const { webhook, id, url } = stored;
    let answer: Answer | undefined;
    let fault: unknown;
    try {
      answer = await this.#post(stored, signal);
      if (answer.status < 200 || answer.status > 299) fault = new Error(`It replied ${answer.status}`);
    } catch (error) {
      // The application stops, or another node has the message: it is no try.
      if (signal.aborted && signal.reason.name === "AbortError") throw error;
      fault = error;
    }
    const isGone = answer?.status === GONE || fault instanceof Discard;
    const isLast = isGone || attempt >= this.#parts.attempts;
    const state = fault === undefined ? "delivered" : isLast ? "failed" : "retrying";
    const error = fault === undefined ? undefined : fault instanceof Error ? fault.message : String(fault);
    await this.#deliveries.write(webhook, { id, url, attempt, state, error, answer }).catch((cause) => {
      log("warn", "The answer to a webhook could not be kept", {
        webhook,
        webhook_id: id,
        error: describeError(cause),
      });
    });
    if (fault === undefined) return;
    const message = `Cannot deliver the webhook "${webhook}" ${id} to ${new URL(url).host}: ${error}`;
    throw isGone ? new Discard(message) : new Error(message);
  }

  async #post({ webhook, id, url, body, secrets, ...stored }: StoredWebhook, signal: AbortSignal): Promise<Answer> {
    const { isDeclared, receiver } = this.#parts;
    const { allowPrivate } = isDeclared(webhook) ? this.#parts : stored;
    const keys = keysOf(this.#open(secrets, url, id), this.#scheme, "sign a webhook");
    const text = JSON.stringify(body);
    const headers = {
      "content-type": "application/json",
      "content-length": `${new TextEncoder().encode(text).length}`,
      ...signedHeaders(text, this.#scheme, keys, { id, sentAt: new Date() }),
    };
    const receive = receiver();
    if (!receive) return await post(new URL(url), { headers, body: text, signal, allowPrivate });
    const response = await receive(new Request(url, { method: "POST", headers, body: text, signal }));
    return { status: response.status, body: await response.bytes() };
  }

  #open(secrets: string, url: string, id: string): readonly string[] {
    try {
      return JSON.parse(this.#seal.open(secrets, contextOf(url, id)));
    } catch (cause) {
      throw new Discard("Its secret was encrypted with a key that the records no longer have", { cause });
    }
  }
}

function isStoredWebhook(stored: Partial<StoredWebhook> | null): stored is StoredWebhook {
  const { webhook, id, url, secrets, body } = stored ?? {};
  return [webhook, id, url, secrets].every((part) => typeof part === "string") && URL.canParse(url!) &&
    body !== undefined;
}

function contextOf(url: string, id: string): string {
  return JSON.stringify([url, id]);
}

/** @throws {TypeError} If the data does not fit the schema. */
function outputOf({ issues, value }: Dataset, action: string): unknown {
  if (issues) {
    throw new TypeError(`Cannot ${action}: the data does not fit the schema, ${summarizeIssues(issues, "it")}`);
  }
  encodeData(value, action);
  return value;
}
