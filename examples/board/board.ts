/** Puts a node together. */
import { App, type AppOptions, Router } from "@webfw/core";
import { requestId, secureHeaders } from "@webfw/core/middleware";
import { join } from "node:path";
import { admin } from "./admin.ts";
import { attachments } from "./attachments.ts";
import { cards } from "./cards.ts";
import { Database } from "./database.ts";
import { inbox, sendHooks } from "./hooks.ts";
import { sendDigests, sendMails } from "./mail.ts";
import { Changes, flushOutbox, Mails, Outbox, type State, state } from "./outbox.ts";
import { page } from "./page.ts";
import { presence } from "./presence.ts";
import { signIn } from "./sign_in.ts";
import { teams } from "./teams.ts";

/** The options of {@linkcode board}. */
export interface BoardOptions {
  /** The folder of all data, which the nodes share: the databases, attachments and mails. */
  readonly folder: string;
  /** The token of the operator. */
  readonly adminToken: string;
  /** The secret of incoming webhooks, `whsec_` and base64. */
  readonly inboxSecret: string;
  /** The time zone of the digest. */
  readonly timeZone: string;
  /** Loads the script of the page. */
  readonly script: () => Promise<Blob>;
}

/** Makes the application of a node. */
export function board(options: BoardOptions, appOptions: Pick<AppOptions, "hosts" | "trustProxy"> = {}): App<State> {
  const [attachmentFolder, mailFolder] = ["attachments", "mails"].map((name) => join(options.folder, name)) as [string, string];
  const topics = join(options.folder, "topics.sqlite");
  const app = new App({ title: "Boards", version: "1.0.0", state, topics, readyUrl: "/ready", ...appOptions });
  const [changes, mails] = [app.topic(Changes), app.topic(Mails)];
  app.lifespan(async function* () {
    for (const path of [attachmentFolder, mailFolder]) await Deno.mkdir(path, { recursive: true });
    using database = new Database(join(options.folder, "board.sqlite"));
    const outbox = new Outbox(database, changes, mails);
    yield { database, outbox, attachments: attachmentFolder, script: await options.script() };
  });
  app.middleware(requestId());
  app.middleware(secureHeaders({ contentSecurityPolicy: { "default-src": ["'self'"], "img-src": ["data:"] } }));
  flushOutbox(app);
  sendHooks(app);
  sendMails(app, mailFolder);
  sendDigests(app, options.timeZone);

  const v1 = new Router({ prefix: "/v1", state });
  for (const router of [signIn, inbox(options.inboxSecret), admin(options.adminToken)]) v1.include(router);
  for (const router of [teams, cards, attachments, presence]) v1.include(router);
  app.include(v1);
  app.include(page);
  return app;
}
