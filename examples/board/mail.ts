/** Sends mails: a file for each one, in place of a mail server. */
import type { App } from "@webfw/core";
import { join } from "node:path";
import type { Card, User } from "./models.ts";
import { Mails, type State } from "./state.ts";

/** Makes a node take part in sending mails. */
export function sendMails(app: App<State>, folder: string): void {
  app.topic(Mails).consume("send", async ({ id, data: { to, subject, text } }, { signal }) => {
    // A mail that is sent twice replaces its file. With a mail server, the id is the Message-ID.
    await Deno.writeTextFile(join(folder, `${id}.eml`), `To: ${to}\nSubject: ${subject}\n\n${text}`, { signal });
  });
}

/** Mails the open cards of each user, on the mornings of working days. */
export function sendDigests(app: App<State>, timeZone: string): void {
  app.cron("digest", "0 7 * * MON-FRI", { timeZone, catchUp: "3h" }, async ({ app, scheduled, state, signal }) => {
    const sql = "SELECT users.email, cards.title FROM cards JOIN users ON users.id = cards.assignee " +
      "WHERE \"column\" <> 'done' ORDER BY cards.id";
    const rows = state.database.all<Pick<User, "email"> & Pick<Card, "title">>(sql);
    for (const [to, cards = []] of Map.groupBy(rows, ({ email }) => email)) {
      signal.throwIfAborted();
      const text = cards.map(({ title }) => `- ${title}\n`).join("");
      // If this node dies, another one repeats the run: with an id, each mail is published once.
      const id = `digest ${to} ${scheduled.toISOString()}`;
      await app.topic(Mails).publish({ to, subject: `${cards.length} open cards`, text }, { id });
    }
  });
}
