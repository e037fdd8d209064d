/**
 * The programs `webfw` and `wfw`: serve and inspect web applications.
 *
 * ```sh
 * deno run -A jsr:@webfw/cli run main.ts:app --reload
 * ```
 *
 * @module
 */

import { main } from "@webfw/core/cli";

if (import.meta.main) Deno.exit(await main(Deno.args));
