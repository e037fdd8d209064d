/** The page of the board: its markup, its style and its script, which `deno task board` bundles. */
import type { App } from "../app/app.ts";
import { cachedReply, contentHash } from "../http/files/conditional.ts";
import type { BoardState } from "./state.ts";
// Not by a dynamic import: the bundler would split its helper functions from the core, for all
// programs.
import bundled from "./page.json" with { type: "json" };

/** Scripts and styles of the board alone, and nothing inline. */
export const POLICY: string = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join("; ");

const ICON = "<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 16 16'>" +
  "<rect width='16' height='16' rx='3' fill='#2b5fd9'/><path d='M3.5 12V8m3 4V4m3 8V6.5m3 5.5V9.5' stroke='#fff' stroke-width='1.8'/></svg>";

const FILES: Readonly<Record<string, string>> = {
  "board.js": "text/javascript; charset=utf-8",
  "board.css": "text/css; charset=utf-8",
};

/** By the names of its files. */
const BUNDLE: Readonly<Record<string, string>> = bundled;

/** Adds the page and its files. */
export function addPages(app: App<BoardState>): void {
  app.get("/", async (request) => {
    const html = await markup();
    return await cachedReply(request.headers, {
      ...{ contentType: "text/html; charset=utf-8", tag: await contentHash(html), read: async () => html },
    }, {
      "cache-control": "private, no-cache",
      "content-security-policy": POLICY,
      "x-content-type-options": "nosniff",
    });
  });
  for (const [name, contentType] of Object.entries(FILES)) {
    app.get(`/${name}`, async (request) => {
      const text = BUNDLE[name]!;
      const tag = await contentHash(text);
      const isCurrent = request.query.get("v") === tag;
      return await cachedReply(request.headers, { contentType, tag, read: async () => text }, {
        "cache-control": isCurrent ? "private, max-age=31536000, immutable" : "private, no-cache",
        "x-content-type-options": "nosniff",
      });
    });
  }
}

/** All URLs are relative: a proxy may serve the application below a prefix. */
async function markup(): Promise<string> {
  const url = async (name: string) => `${name}?v=${await contentHash(BUNDLE[name]!)}`;
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>Board</title>
<link rel="icon" href="data:image/svg+xml,${encodeURIComponent(ICON)}">
<link rel="stylesheet" href="${await url("board.css")}">
<script type="module" src="${await url("board.js")}"></script>
</head>
<body>
<div id="board"><p>The board needs JavaScript.</p></div>
</body>
</html>
`;
}
