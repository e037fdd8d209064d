/**
 * One node: `deno run -A --unstable-kv serve.ts`, or `webfw run main.ts:app`. `webfw env main.ts`
 * lists the settings.
 */
import { file, settings } from "@webfw/core";
import * as v from "valibot";
import { bundle } from "../bundle.ts";
import { board } from "./board.ts";

const set = settings(v.object({
  BOARD_DATA: v.optional(v.pipe(v.string(), v.description("The folder of all data")), "data"),
  BOARD_ADMIN_TOKEN: v.pipe(v.string(), v.minLength(32), v.description("The token of the operator")),
  BOARD_INBOX_SECRET: v.pipe(v.string(), v.startsWith("whsec_"), v.description("The secret of incoming webhooks")),
  BOARD_TIME_ZONE: v.optional(v.pipe(v.string(), v.description("The time zone of the digest")), "UTC"),
  BOARD_HOSTS: v.optional(v.pipe(v.array(v.string()), v.description("The host names of the service")), ["localhost"]),
  BOARD_PROXIES: v.optional(v.pipe(v.number(), v.integer(), v.description("The number of proxies")), 0),
  BOARD_SCRIPT: v.optional(v.pipe(v.string(), v.description("The bundled script. Without it, the start bundles it"))),
}));

export const app = board({
  folder: set.BOARD_DATA,
  adminToken: set.BOARD_ADMIN_TOKEN,
  inboxSecret: set.BOARD_INBOX_SECRET,
  timeZone: set.BOARD_TIME_ZONE,
  script: () => set.BOARD_SCRIPT ? file(set.BOARD_SCRIPT) : bundle(new URL("page/board.ts", import.meta.url)),
}, { hosts: set.BOARD_HOSTS, ...set.BOARD_PROXIES > 0 && { trustProxy: set.BOARD_PROXIES } });

/** For `deno serve`. */
export default app;
