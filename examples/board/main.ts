/** One node: `deno run -A serve.ts`. `webfw env main.ts` lists the settings. */
import { settings } from "@webfw/core";
import { board, Settings } from "./board.ts";

export const app = board(settings(Settings));

/** For `deno serve`. */
export default app;
