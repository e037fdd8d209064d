/** Serves the files of a folder. Loaded with the first such request. */
import { CannotStartError, HTTPError, isHTTPError } from "../../base/errors.ts";
import type { FallThrough, RequestContext } from "../context.ts";
import { isMountWithoutSlash, redirectToSlash } from "../reply.ts";
import { chooseEncoding, type Encoding, ENCODINGS, validatorsOf, versionReply } from "./conditional.ts";
import { toPath } from "./disk_blob.ts";
import { findWithin, infoOf, realPath, ServedFile, typeOf } from "./served_file.ts";

export interface ServedFolder {
  readonly root: string | URL;
  /** The file of the page for unknown paths. */
  readonly spa: string | undefined;
  readonly isImmutable: (path: string) => boolean;
}

export interface FolderRequest extends FallThrough {
  readonly context: RequestContext;
  /** The decoded path below the folder; undefined for the folder itself. */
  readonly rest: string | undefined;
}

interface Found {
  readonly path: string;
  readonly info: Deno.FileInfo;
}

const INDEX = "index.html";
const SUFFIXES: Readonly<Record<Encoding, string>> = { br: ".br", gzip: ".gz" };

/** Separators that a client has escaped, and the one of Windows. */
const HIDDEN_SEPARATOR = /%2f|%5c|\\/i;

/** Throws a CannotStartError if the folder, or the page for unknown paths, is missing. */
export async function checkFolder({ root, spa }: ServedFolder, name: string): Promise<void> {
  const folder = await realPath(toPath(root)).catch((error) => {
    if (!(error instanceof Deno.errors.NotCapable)) throw error;
    const path = toPath(root);
    throw new CannotStartError(`Cannot serve ${name}: "${path}" may not be read, allow it by --allow-read=${path}`);
  });
  const info = folder === undefined ? undefined : await infoOf(folder);
  if (folder === undefined || !info?.isDirectory) {
    const fault = info ? "is no folder" : "does not exist";
    throw new CannotStartError(`Cannot serve ${name}: "${toPath(root)}" ${fault}, build it first or correct its path`);
  }
  if (spa === undefined || await findFile(folder, spa.split("/"))) return;
  throw new CannotStartError(`Cannot serve ${name}: "${toPath(root)}" has no file "${spa}", build it first`);
}

/** Replies with a file, an index page, or the page for unknown paths; else throws the refusal. */
export async function folderReply(folder: ServedFolder, asked: FolderRequest): Promise<Response> {
  const { context, rest = "" } = asked;
  const root = await realPath(toPath(folder.root));
  if (root === undefined) throw asked.refusal;
  // No file has such a path, but a page of a single-page application may have it.
  if (HIDDEN_SEPARATOR.test(context.path)) return await pageReply(folder, asked, root);
  const parts = rest === "" ? [] : rest.replace(/\/$/, "").split("/");
  const found = await find(root, parts);
  const namesFolder = context.path.endsWith("/") && !isMountWithoutSlash(context);
  if (found?.info.isFile && !namesFolder) return await fileReply(folder, found, root, parts, context);
  if (found?.info.isDirectory) {
    const index = [...parts, INDEX];
    const page = await findFile(root, index);
    if (page) return namesFolder ? await fileReply(folder, page, root, index, context) : toFolder(context);
  }
  return await pageReply(folder, asked, root);
}

/** The page for unknown paths, for clients that accept HTML. */
async function pageReply(folder: ServedFolder, asked: FolderRequest, root: string): Promise<Response> {
  const { context, refusal, isFree } = asked;
  if (folder.spa === undefined || !isFree || !isHTTPError(refusal) || refusal.status !== 404) throw refusal;
  const parts = folder.spa.split("/");
  const page = asksForHtml(context.raw.headers.get("accept")) ? await findFile(root, parts) : undefined;
  if (!page) throw new HTTPError(404, refusal.detail, { headers: { vary: "accept" } });
  // The path may have a file later.
  const reply = await fileReply({ ...folder, isImmutable: () => false }, page, root, parts, context);
  reply.headers.append("vary", "accept");
  return reply;
}

/** Browsers name HTML when they open a page. Scripts and programs like curl accept anything. */
function asksForHtml(accept: string | null): boolean {
  for (const range of accept?.toLowerCase().split(",") ?? []) {
    const [type = "", ...parameters] = range.split(";").map((part) => part.trim());
    if (type === "text/html") return !parameters.some((parameter) => /^q=0(?:\.0*)?$/.test(parameter));
  }
  return false;
}

async function fileReply(
  { isImmutable }: ServedFolder,
  file: Found,
  root: string,
  parts: readonly string[],
  context: RequestContext,
): Promise<Response> {
  const type = await typeOf(parts.at(-1)!);
  const { encoding, found, hasOthers } = await preferredForm(file, root, parts, context.raw.headers);
  const headers = new Headers({ "content-type": type, "x-content-type-options": "nosniff" });
  const isFixed = isImmutable(parts.join("/"));
  const whose = privateBehindGuards(context) || (isFixed ? "public, " : "");
  headers.set("cache-control", whose + (isFixed ? "max-age=31536000, immutable" : "no-cache"));
  if (hasOthers) headers.set("vary", "accept-encoding");
  if (encoding !== undefined) headers.set("content-encoding", encoding);
  const content = new ServedFile(found.path, found.info, type);
  const validators = await validatorsOf(content);
  // Two forms can have the same size and time.
  const etag = encoding === undefined ? validators.etag : validators.etag?.replace(/"$/, `-${encoding}"`);
  return versionReply(content, { ...validators, etag }, context.raw, headers);
}

/** Shared caches must not keep a file behind guards. */
function privateBehindGuards(context: RequestContext): "private, " | "" {
  return context.matched.isGuarded ? "private, " : "";
}

/** The file itself, or a compressed one beside it. */
async function preferredForm(
  file: Found,
  root: string,
  parts: readonly string[],
  headers: Headers,
): Promise<{ encoding?: Encoding; found: Found; hasOthers: boolean }> {
  const forms = await Promise.all(ENCODINGS.map(async (encoding) => {
    const neighbour = [...parts.slice(0, -1), parts.at(-1) + SUFFIXES[encoding]];
    return { encoding, found: await findFile(root, neighbour) };
  }));
  const offered = forms.filter(({ found }) => found).map(({ encoding }) => encoding);
  const hasOthers = offered.length > 0;
  const chosen = chooseEncoding(headers.get("accept-encoding"), offered);
  const form = forms.find(({ encoding }) => encoding === chosen);
  return form?.found ? { encoding: form.encoding, found: form.found, hasOthers } : { found: file, hasOthers };
}

async function find(root: string, parts: readonly string[]): Promise<Found | undefined> {
  const path = await findWithin(root, parts);
  const info = path && await infoOf(path);
  return path && info ? { path, info } : undefined;
}

async function findFile(root: string, parts: readonly string[]): Promise<Found | undefined> {
  const found = await find(root, parts);
  return found?.info.isFile ? found : undefined;
}

/** With a slash, the relative links of the index page are right. */
function toFolder(context: RequestContext): Response {
  const reply = redirectToSlash(context);
  reply.headers.set("cache-control", `${privateBehindGuards(context)}no-cache`);
  return reply;
}
