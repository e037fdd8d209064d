/** The last try of each webhook to each URL, with its answer, in records. */
import { nodeCrypto } from "../base/runtime.ts";
import type { Records } from "../store/records.ts";
import type { WebhookDelivery } from "../topics/webhook.ts";
import type { Answer } from "./post.ts";

/** As long as the topic keeps messages. */
export const KEPT = "7d";
/** In base64, this much of an answer fits a record. A further record has the rest. */
const PART_BYTES = 32 * 1024;

interface Stored extends Pick<WebhookDelivery, "id" | "url" | "state" | "attempt"> {
  readonly at: number;
  readonly status?: number | undefined;
  readonly error?: string | undefined;
  /** The beginning of the answer. */
  readonly body: string;
  readonly hasRest: boolean;
}

interface Rest {
  /** Of the try that it belongs to. */
  readonly at: number;
  readonly body: string;
}

export interface Tried extends Pick<WebhookDelivery, "id" | "url" | "state" | "attempt" | "error"> {
  readonly answer: Answer | undefined;
}

export class Deliveries {
  readonly #records: Records;

  constructor(records: Records) {
    this.#records = records;
  }

  async write(webhook: string, { answer, ...tried }: Tried): Promise<void> {
    const key = [webhook, hashOf(tried.url), tried.id];
    const at = Date.now();
    const body = answer?.body ?? new Uint8Array();
    const hasRest = body.length > PART_BYTES;
    if (hasRest) {
      const rest: Rest = { at, body: body.subarray(PART_BYTES).toBase64() };
      await this.#records.set(["rest", ...key], rest, { expiresIn: KEPT });
    }
    const stored: Stored = {
      ...{ ...tried, at, status: answer?.status, body: body.subarray(0, PART_BYTES).toBase64(), hasRest },
    };
    await this.#records.set(["delivery", ...key], stored, { expiresIn: KEPT });
  }

  async *read(
    webhook: string,
    { id, url }: { readonly id?: string | undefined; readonly url?: string | undefined },
  ): AsyncGenerator<WebhookDelivery, void, void> {
    const prefix = url === undefined ? [] : id === undefined ? [hashOf(url)] : [hashOf(url), id];
    for await (const { key, value } of this.#records.list<Stored>(["delivery", webhook, ...prefix])) {
      if (id !== undefined && value.id !== id) continue;
      const { at, body, hasRest, status, error, ...tried } = value;
      const rest = hasRest ? await this.#records.get<Rest>(["rest", ...key.slice(1)]) : null;
      const parts = [body, ...(rest?.value.at === at ? [rest.value.body] : [])].map((part) =>
        Uint8Array.fromBase64(part)
      );
      const decoder = new TextDecoder();
      const answer = parts.map((part) => decoder.decode(part, { stream: true })).join("") + decoder.decode();
      yield { ...tried, at: new Date(at), status, answer, error };
    }
  }
}

export function hashOf(text: string): string {
  return nodeCrypto().createHash("sha256").update(text).digest("base64url");
}
