/** Publishes messages that were stored in one transaction with the rows that they describe. */
import { type App, stateType, type Topic, topic } from "@webfw/core";
import type { Database } from "./database.ts";
import { Card, Mail } from "./models.ts";

/** Each change of a card: the card after it. */
export const Changes = topic("changes", { schema: Card, durable: true, dedupe: "24h" });
export const Mails = topic("mails", { schema: Mail, durable: true, dedupe: "24h" });

/** The values that all requests of a running node share. */
export interface State {
  readonly database: Database;
  readonly outbox: Outbox;
  /** The folder of the attachments. */
  readonly attachments: string;
  /** The script of the page. */
  readonly script: Blob;
}
export const state = stateType<State>();

/** Messages that are not published yet. */
export class Outbox {
  readonly #database: Database;
  readonly #topics: { changes: Topic<Card>; mails: Topic<Mail> };
  #isFlushing = false;

  constructor(database: Database, changes: Topic<Card>, mails: Topic<Mail>) {
    this.#database = database;
    this.#topics = { changes, mails };
  }

  /** Stores a message. Call it in the transaction that changes the rows. */
  add(...[topic, data]: [topic: "changes", data: Card] | [topic: "mails", data: Mail]): void {
    const sql = "INSERT INTO outbox (id, topic, data) VALUES (?, ?, ?)";
    this.#database.run(sql, crypto.randomUUID(), topic, JSON.stringify(data));
  }

  /** Publishes all stored messages. By its id, a message that two nodes publish is stored once. */
  async flush(): Promise<void> {
    // The call in progress also publishes what was added since.
    if (this.#isFlushing) return;
    this.#isFlushing = true;
    try {
      for (;;) {
        const sql = "SELECT id, topic, data FROM outbox ORDER BY number LIMIT 100";
        const rows = this.#database.all<{ id: string; topic: "changes" | "mails"; data: string }>(sql);
        if (rows.length === 0) return;
        await Promise.all(rows.map(async ({ id, topic, data }) => {
          const { changes, mails } = this.#topics;
          const message = JSON.parse(data);
          await (topic === "changes" ? changes.publish(message, { id }) : mails.publish(message, { id }));
          this.#database.run("DELETE FROM outbox WHERE id = ?", id);
        }));
      }
    } finally {
      this.#isFlushing = false;
    }
  }
}

/** Publishes each minute what is left by a node that was killed, or that could not reach the store. */
export function flushOutbox(app: App<State>): void {
  app.cron("outbox", "* * * * *", async ({ state }) => await state.outbox.flush());
}
