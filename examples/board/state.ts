/** The topics, and the state of a running node. */
import { stateType, type Topic, topic } from "@webfw/core";
import type { Database } from "./database.ts";
import { Card, Mail } from "./models.ts";

/** Each change of a card: the card after it. */
export const Changes = topic("changes", { schema: Card, durable: true, dedupe: "24h" });
export const Mails = topic("mails", { schema: Mail, durable: true, dedupe: "24h" });

/** The values that all requests of a running node share. */
export interface State {
  readonly database: Database;
  readonly changes: Topic<Card>;
  readonly mails: Topic<Mail>;
  /** The folder of the attachments. */
  readonly attachments: string;
  /** The script of the page. */
  readonly script: Blob;
}
export const state = stateType<State>();
