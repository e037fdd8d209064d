/** Writes a mail for each order, on whichever node has time: a file in place of a mail server. */
import type { Duration, Topic } from "@webfw/core";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import type * as v from "valibot";
import type { TakenOrder } from "./models.ts";

/** How mails are written. */
export interface MailOptions {
  /** The folder of the mails. */
  readonly folder: string;
  /** How long a mail takes, in milliseconds, as if a server took it. */
  readonly takes: number;
  /** How long the mails of a node that was killed wait for another node. */
  readonly lease: Duration;
}

/** Makes a node take part in writing mails. */
export function sendMails(
  topic: Topic<v.InferOutput<typeof TakenOrder>>,
  node: string,
  { folder, takes, lease }: MailOptions,
): void {
  topic.consume("mail", { lease }, async ({ data: { id, item, quantity } }, { signal }) => {
    console.log(`Node ${node} begins the mail of order ${id}`);
    await setTimeout(takes, undefined, { signal });
    await Deno.mkdir(folder, { recursive: true });
    // Named after the order: a mail that is written twice is one file.
    await Deno.writeTextFile(join(folder, `${id}.txt`), `Your order, ${quantity} of ${item}, was sent.\n`, { signal });
    console.log(`Node ${node} has written the mail of order ${id}`);
  });
}
