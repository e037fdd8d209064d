/**
 * A chat, as a service: `deno run -A main.ts`, or `webfw run main.ts:app --reload`. Open http://127.0.0.1:8000 in two windows.
 *
 * Pictures are kept in the folder of the variable CHAT_PICTURES, or in `pictures` beside this file. What is said is kept in memory:
 * the last hundred messages of a room.
 */
import { join } from "node:path";
import { chat } from "./chat.ts";

export const app = chat(Deno.env.get("CHAT_PICTURES") ?? join(import.meta.dirname!, "pictures"));

if (import.meta.main) await app.run({ port: 8000 });

/** For `deno serve` and Deno Deploy. */
export default app;
