/** Checks that each link within the built site resolves. */
import { dirname, join, relative } from "node:path/posix";

/** An opening tag. The text of a page may have code with attributes. */
const TAG = /<[a-z](?:"[^"]*"|[^">])*>/gi;
const ATTRIBUTE = /\s(href|src|id|name)="([^"]*)"/g;

interface Built {
  readonly ids: ReadonlySet<string>;
  readonly links: readonly string[];
}

/**
 * Finds links to pages, files and headings that are not there.
 *
 * @param folder The built site.
 * @param base The path at which the site is published, without a slash at its end.
 * @returns One line for each.
 */
export async function brokenLinks(folder: string, base = ""): Promise<string[]> {
  const files = new Set<string>();
  const pages = new Map<string, Built>();
  for await (const path of walk(folder)) {
    files.add(relative(folder, path));
    if (path.endsWith(".html")) pages.set(relative(folder, path), readPage(await Deno.readTextFile(path)));
  }
  const broken = new Set<string>();
  for (const [page, { links }] of pages) {
    for (const link of links) {
      const url = new URL(link, `http://site${base}/${dirname(page) === "." ? "" : dirname(page) + "/"}`);
      if (url.host !== "site") continue;
      const path = decodeURIComponent(url.pathname.slice(base.length + 1));
      const file = path === "" || path.endsWith("/") ? join(path, "index.html") : path;
      const id = decodeURIComponent(url.hash.slice(1));
      if (!url.pathname.startsWith(`${base}/`) || !files.has(file)) broken.add(`${page}: ${link} is not there`);
      else if (id !== "" && pages.get(file)?.ids.has(id) === false) broken.add(`${page}: ${link} has no such heading`);
    }
  }
  return [...broken];
}

async function* walk(folder: string): AsyncGenerator<string> {
  for await (const entry of Deno.readDir(folder)) {
    const path = join(folder, entry.name);
    if (entry.isDirectory) yield* walk(path);
    else yield path;
  }
}

function readPage(html: string): Built {
  const ids = new Set<string>();
  const links: string[] = [];
  const attributes = (html.match(TAG) ?? []).flatMap((tag) => [...tag.matchAll(ATTRIBUTE)]);
  for (const [, name, value] of attributes) {
    if (name === "id" || name === "name") ids.add(unescape(value!));
    else if (!/^(https?|data|mailto):/.test(value!)) links.push(unescape(value!));
  }
  return { ids, links };
}

function unescape(value: string): string {
  return value.replaceAll("&#38;", "&").replaceAll("&amp;", "&").replaceAll("&quot;", '"');
}
