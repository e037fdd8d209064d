/**
 * A chat, as a service: `deno run -A serve.ts`, `deno serve -A main.ts`, or
 * `webfw run main.ts:app --reload`. Open http://127.0.0.1:8000 in two windows.
 *
 * Pictures are kept in the folder that CHAT_PICTURES names, or in `pictures` beside this file. The
 * last hundred messages of a room are kept in memory.
 */
import { join } from "node:path";
import { chat } from "./chat.ts";

export const app = chat(Deno.env.get("CHAT_PICTURES") ?? join(import.meta.dirname!, "pictures"));

/** For `deno serve` and Deno Deploy. */
export default app;
