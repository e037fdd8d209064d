/** The page: files, and a script that is bundled when the node starts. */
import { file, Router } from "@webfw/core";
import { state } from "./state.ts";

export const page = new Router({ state, hidden: true });

page.get("/", async () => await file(new URL("page/index.html", import.meta.url)));
page.get("/board.css", async () => await file(new URL("page/board.css", import.meta.url)));
page.get("/board.js", async (request) => request.state.script);
