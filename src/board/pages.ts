/** The page of the board: its markup, its style and its script, which `deno task board` bundles. */
import type { App } from "../app/app.ts";
import { load } from "../base/async_context.ts";
import { cachedReply, contentHash } from "../http/files/conditional.ts";
import type { BoardState } from "./state.ts";

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

/** The bundle, by the names of its files. */
async function bundled(): Promise<Readonly<Record<string, string>>> {
  return (await load(() => import("./page.json", { with: { type: "json" } }))).default;
}

/** Adds the page and its files. */
export function addPages(app: App<BoardState>): void {
  app.get("/", async (request) => {
    const files = await bundled();
    const html = await markup(files);
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
      const text = (await bundled())[name]!;
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
async function markup(files: Readonly<Record<string, string>>): Promise<string> {
  const url = async (name: string) => `${name}?v=${await contentHash(files[name]!)}`;
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
