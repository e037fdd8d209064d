// How the started program prints the messages of a topic as they come. Sent as text: see ../boot.ts.

import type { FollowedTopic, WebfwApp } from "./app.ts";
import type { TopicsPlan } from "./plan.ts";

/** Prints each message as a line of JSON, until a signal ends the program. */
export async function followTopic(app: Pick<WebfwApp, "topic">, { tail, from, after }: TopicsPlan): Promise<void> {
  const name = tail ?? "";
  // An early version of the framework has no such check.
  const check = Reflect.get(app, Symbol.for("webfw.checkTopic"));
  if (typeof check === "function") await check(name);
  const topic = openTopic(app, name);
  const subscription = topic.subscribe(after === null ? { from } : { after });
  // Whoever publishes when they have read the line below is heard.
  await subscription.cursor();
  // The id of the place before the first message there could be.
  const isEmpty = /-0+$/.test(await topic.head());
  if (isEmpty) console.error(`The topic ${toPlainJson(name)} is empty: waiting`);
  for await (const entry of subscription) {
    if ("gap" in entry) writeOut(`${toPlainJson(entry)}\n`);
    else {
      const { id, time, type, data } = entry;
      writeOut(`${toPlainJson({ id, time, type, data })}\n`);
    }
  }
}

/** The topic of a name, as the application has declared it, or as any that is durable. */
export function openTopic(app: Pick<WebfwApp, "topic">, name: string): FollowedTopic {
  try {
    return app.topic!(name, { durable: true });
  } catch (error) {
    if (!(error instanceof TypeError) || !error.message.includes("its durable is another one")) throw error;
    throw new TypeError(`Cannot follow "${name}": it is not durable, and no other process can read what is in memory`);
  }
}

/** JSON of names and data that come from clients, without what a terminal obeys or turns around. */
export function toPlainJson(value: unknown): string {
  return toPlainLine(JSON.stringify(value));
}

/** One line of text without what a terminal obeys or turns around. */
export function toPlainLine(text: string): string {
  // deno-lint-ignore no-control-regex
  const unsafe = /[\0-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/g;
  return text.replace(unsafe, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`);
}

/** Writes all of a text to stdout. */
export function writeOut(text: string): void {
  const bytes = new TextEncoder().encode(text);
  for (let written = 0; written < bytes.length;) written += Deno.stdout.writeSync(bytes.subarray(written));
}
