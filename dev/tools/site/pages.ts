/** The pages of the guide: Markdown files of the repository, as the generator of the site wants them. */
import { basename, dirname, extname, join, normalize, relative } from "node:path/posix";

/** A page of the site. */
export interface Page {
  /** Its path in the site without slashes around it; "index" is the first page. */
  readonly slug: string;
  readonly title: string;
  /** One sentence for search engines and agents. */
  readonly description: string | undefined;
  readonly markdown: string;
}

/** A link or an image of Markdown, outside of code: its text, its target and its fragment. */
const LINK = /(!?\[[^\]]*\])\((?!https?:|mailto:|#)([^)#\s]+)(#[^)\s]+)?\)/g;

/** Languages by extension, for the colours of code. */
const LANGUAGES: Record<string, string> = { ".ts": "ts", ".json": "json", ".html": "html", ".css": "css" };

/**
 * Reads the pages of `docs/`, and each file of the repository that they link to.
 *
 * @param root The repository.
 * @param takeImage Gets the path of each image, relative to the repository. Gives its path in the site.
 */
export async function readPages(root: string, takeImage: (path: string) => Promise<string>): Promise<Page[]> {
  const pages = new Map<string, Page>();
  const waiting = await listMarkdown(join(root, "docs"), root);
  for (let path = waiting.shift(); path !== undefined; path = waiting.shift()) {
    if (pages.has(path)) continue;
    const linked: string[] = [];
    pages.set(path, await readPage(root, path, linked, takeImage));
    waiting.push(...linked);
  }
  return [...pages.values()];
}

/**
 * Puts the path at which the site is published before its own links.
 *
 * @param page A page whose links begin with a slash.
 * @param base The path without a slash at its end; empty at the root of a host.
 */
export function atBase(page: Page, base: string): Page {
  return { ...page, markdown: mapOutsideCode(page.markdown, (part) => part.replaceAll("](/", `](${base}/`)) };
}

async function listMarkdown(folder: string, root: string): Promise<string[]> {
  const found: string[] = [];
  for await (const entry of Deno.readDir(folder)) {
    const path = join(folder, entry.name);
    if (entry.isDirectory) found.push(...await listMarkdown(path, root));
    else if (extname(path) === ".md") found.push(relative(root, path));
  }
  return found.sort();
}

async function readPage(
  root: string,
  path: string,
  linked: string[],
  takeImage: (path: string) => Promise<string>,
): Promise<Page> {
  const text = await Deno.readTextFile(join(root, path));
  if (extname(path) !== ".md") {
    return {
      slug: slugOf(path),
      title: path,
      description: undefined,
      markdown: `\`\`\`\`${LANGUAGES[extname(path)] ?? "text"}\n${text}\n\`\`\`\`\n`,
    };
  }
  const { title, body } = splitTitle(text, path);
  const addresses = new Map<string, string>();
  for (const [, label, target] of outsideCode(body).matchAll(LINK)) {
    const file = await fileAt(root, normalize(join(dirname(path), target!)), path);
    const isImage = label!.startsWith("!");
    addresses.set(target!, isImage ? await takeImage(file) : `/${urlOf(slugOf(file))}`);
    if (!isImage) linked.push(file);
  }
  const markdown = mapOutsideCode(
    body,
    (part) => part.replace(LINK, (_, label, target, hash = "") => `${label}(${addresses.get(target)}${hash})`),
  );
  return { slug: slugOf(path), title, description: firstSentence(body), markdown };
}

/** The file that a link means: that of a folder is its README, or else its program. */
async function fileAt(root: string, path: string, from: string): Promise<string> {
  for (const file of [path, join(path, "README.md"), join(path, "main.ts")]) {
    if (await isFile(join(root, file))) return file;
  }
  throw new Error(`Cannot build the site: ${from} links to ${path}, which is not there`);
}

async function isFile(path: string): Promise<boolean> {
  return await Deno.stat(path).then((info) => info.isFile, () => false);
}

/** `docs/` is the root of the site; other files of the repository are below `source/`. */
function slugOf(path: string): string {
  if (!path.startsWith("docs/")) return `source/${path.toLowerCase()}`;
  return path.slice("docs/".length).replace(/\.md$/, "").replace(/\/index$/, "");
}

/** The path of a page after the first slash. */
function urlOf(slug: string): string {
  return slug === "index" ? "" : `${slug}/`;
}

function splitTitle(text: string, path: string): { title: string; body: string } {
  const match = /^# (.+)\n/.exec(text);
  if (match === null) throw new Error(`Cannot build the site: ${basename(path)} must begin with "# " and its title`);
  return { title: match[1]!.replaceAll("`", ""), body: text.slice(match[0].length) };
}

/** The first sentence of the first paragraph, without marks. */
function firstSentence(body: string): string | undefined {
  const paragraph = outsideCode(body).split(/\n{2,}/).map((part) => part.trim()).find((part) => /^[\w`[]/.test(part));
  const plain = paragraph?.replaceAll(/\[([^\]]*)\]\([^)]*\)/g, "$1").replaceAll(/[`*]/g, "").replaceAll(/\s+/g, " ");
  return plain?.match(/^.*?[.:?](?=\s|$)/)?.[0].replace(/:$/, ".");
}

const FENCED = /^( *)(`{3,})[^\n]*\n[\s\S]*?\n\1\2 *$/gm;

function outsideCode(markdown: string): string {
  return mapOutsideCode(markdown, (part) => part, () => "");
}

/** Changes what is outside of fenced code. */
function mapOutsideCode(
  markdown: string,
  map: (part: string) => string,
  mapCode: (code: string) => string = (code) => code,
): string {
  let changed = "";
  let end = 0;
  for (const match of markdown.matchAll(FENCED)) {
    changed += map(markdown.slice(end, match.index)) + mapCode(match[0]);
    end = match.index + match[0].length;
  }
  return changed + map(markdown.slice(end));
}
