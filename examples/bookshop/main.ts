/**
 * A bookshop, as a service: `deno run -A serve.ts`, `deno serve -A main.ts`, or
 * `webfw run main.ts:app --reload`.
 *
 * Its data is in a SQLite file: the one that BOOKSHOP_DATABASE names, or `bookshop.sqlite` in this
 * folder. It needs no more permissions than these:
 *
 *   deno run --allow-net=127.0.0.1:8000 --allow-env=BOOKSHOP_DATABASE \
 *     --allow-read=bookshop.sqlite --allow-write=bookshop.sqlite serve.ts
 */
import { join } from "node:path";
import { bookshop } from "./bookshop.ts";

export const app = bookshop(Deno.env.get("BOOKSHOP_DATABASE") ?? join(import.meta.dirname!, "bookshop.sqlite"));

/** For `deno serve` and Deno Deploy. */
export default app;
