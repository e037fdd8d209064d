/** Puts a node together. */
import { App, file, Router } from "@webfw/core";
import { requestId, secureHeaders } from "@webfw/core/middleware";
import { join } from "node:path";
import * as v from "valibot";
import { bundle } from "../bundle.ts";
import { admin } from "./admin.ts";
import { attachments as files } from "./attachments.ts";
import { cards } from "./cards.ts";
import { Database } from "./database.ts";
import { inbox, sendHooks } from "./hooks.ts";
import { sendDigests, sendMails } from "./mail.ts";
import { page } from "./page.ts";
import { presence } from "./presence.ts";
import { signIn } from "./sign_in.ts";
import { Changes, Mails, type State, state } from "./state.ts";
import { teams } from "./teams.ts";

const PAGE = new URL("page/board.ts", import.meta.url);
const text = (description: string) => v.pipe(v.string(), v.description(description));

/** The settings of a node. */
export const Settings = v.object({
  BOARD_DATA: v.optional(text("The folder of all data, which the nodes share"), "data"),
  BOARD_ADMIN_TOKEN: v.pipe(text("The token of the operator"), v.minLength(32)),
  BOARD_INBOX_SECRET: v.pipe(text("The secret of incoming webhooks: whsec_ and base64"), v.startsWith("whsec_")),
  BOARD_TIME_ZONE: v.optional(text("The time zone of the digest"), "UTC"),
  BOARD_HOSTS: v.optional(v.pipe(v.array(v.string()), v.description("The host names of the service")), ["localhost"]),
  BOARD_PROXIES: v.optional(v.pipe(v.number(), v.integer(), v.description("The number of proxies")), 0),
  BOARD_SCRIPT: v.optional(text("The bundled script of the page. Without it, the start bundles it")),
});

/** Makes the application of a node. */
export function board(settings: v.InferOutput<typeof Settings>): App<State> {
  const { BOARD_DATA: folder, BOARD_HOSTS: hosts, BOARD_PROXIES: proxies, BOARD_SCRIPT: script } = settings;
  const [attachments, mailFolder] = [join(folder, "attachments"), join(folder, "mails")];
  const data = join(folder, "board.sqlite");
  const options = { topics: { sqlite: data }, hosts, trustProxy: proxies };
  const app = new App({ title: "Boards", version: "1.0.0", state, readyUrl: "/ready", ...options });
  const [changes, mails] = [app.topic(Changes), app.topic(Mails)];
  app.lifespan(async function* () {
    for (const path of [attachments, mailFolder]) await Deno.mkdir(path, { recursive: true });
    using database = new Database(data);
    yield { database, changes, mails, attachments, script: await (script ? file(script) : bundle(PAGE)) };
  });
  app.middleware(requestId());
  app.middleware(secureHeaders({ contentSecurityPolicy: { "default-src": ["'self'"], "img-src": ["data:"] } }));
  sendHooks(app);
  sendMails(app, mailFolder);
  sendDigests(app, settings.BOARD_TIME_ZONE);

  const v1 = new Router({ prefix: "/v1", state });
  for (const router of [signIn, inbox(settings.BOARD_INBOX_SECRET), admin(settings.BOARD_ADMIN_TOKEN)]) {
    v1.include(router);
  }
  for (const router of [teams, cards, files, presence]) v1.include(router);
  app.include(v1);
  app.include(page);
  return app;
}
