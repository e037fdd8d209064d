/** Where durable topics are kept, as the application or the environment says. */
import { mayRead, nodeUrl, readVariable } from "../runtime.ts";
import { checkOptions, type OptionNames } from "../options.ts";
import type { TopicStore } from "./store.ts";

/**
 * A database of Deno KV on the network: a self-hosted denokv, or that of Deno Deploy.
 *
 * @category Topics
 */
export interface TopicsDatabase {
  /** Its address, `https://…`. */
  url: string | URL;
  /** Its access token; `DENO_KV_ACCESS_TOKEN` unless given. */
  token?: string;
}

/**
 * Where durable topics are kept: the path of a file, the address of a database, or your own store.
 *
 * @category Topics
 */
export type TopicsLocation = string | URL | TopicsDatabase | TopicStore;

/** A file of this machine. */
export interface FileLocation {
  readonly path: string;
  /** The folder of a relative path: the current one when the path was given. */
  readonly folder: string;
  /** The environment variable that could name another file, if the program may not read it. */
  readonly unread?: string;
}

/** A database on the network. */
export interface DatabaseLocation {
  readonly url: URL;
  readonly token: string | undefined;
}

/** The database that Deno Deploy has attached to the application. */
interface AttachedLocation {
  readonly isAttached: true;
}

/** Where a store in Deno KV is. */
export type KvLocation = FileLocation | DatabaseLocation | AttachedLocation;

const DATABASE_OPTIONS: OptionNames<TopicsDatabase> = { url: true, token: true };

/** The environment variable that names the location. */
const VARIABLE = "WEBFW_TOPICS";
/** Relative to the program. */
const DEFAULT_FILE = ".webfw/topics.sqlite";

/**
 * The command line sets the program's module here: under it, `Deno.mainModule` is a `data:` URL.
 */
const MAIN: unique symbol = Symbol.for("webfw.main");

/**
 * Reads the option `topics`.
 *
 * @throws {TypeError} If it is no location, or its URL has a user or a password.
 */
export function toLocation(option: TopicsLocation): KvLocation | TopicStore {
  if (typeof option === "string") return fromText(option, "topics");
  if (option instanceof URL) return fromUrl(option, undefined);
  if (typeof option === "object" && option !== null) {
    if ("append" in option && typeof option.append === "function") return option;
    if ("url" in option) {
      checkOptions(option, DATABASE_OPTIONS, "keep topics");
      const { url, token } = option;
      const address = URL.parse(url);
      if (address && (token === undefined || typeof token === "string")) return fromUrl(address, token);
    }
  }
  throw new TypeError(
    "Cannot keep topics: topics must be the path of a file, a URL, an object of url and token, or a TopicStore",
  );
}

/**
 * The location if the application names none: that of `WEBFW_TOPICS`, or a file beside the program.
 *
 * @throws {TypeError} If the variable is no location, or its URL has a user or a password.
 */
export function defaultLocation(): KvLocation {
  const given = readVariable(VARIABLE);
  if (given) return fromText(given, VARIABLE);
  if (readVariable("DENO_DEPLOYMENT_ID")) return { isAttached: true };
  const program = URL.parse(String(Reflect.get(globalThis, MAIN) ?? Deno.mainModule));
  const isFile = program?.protocol === "file:";
  const beside = inFolder(isFile ? toPath(new URL(DEFAULT_FILE, program)) : DEFAULT_FILE);
  return mayRead(VARIABLE) ? beside : { ...beside, unread: VARIABLE };
}

/** Whether the environment says where durable topics are. */
export function isLocationSet(): boolean {
  return Boolean(readVariable(VARIABLE) || readVariable("DENO_DEPLOYMENT_ID"));
}

/** The path of a file's URL. */
function toPath(url: URL): string {
  const { pathname } = url;
  // Most paths do not need `node:url`, which takes longer to load than many applications take to
  // start.
  return Deno.build.os !== "windows" && !pathname.includes("%") ? pathname : nodeUrl().fileURLToPath(url);
}

function fromText(text: string, source: string): KvLocation {
  if (/^[a-z]+:\/\//i.test(text)) {
    const url = URL.parse(text);
    if (url) return fromUrl(url, undefined);
  }
  const rule = `Cannot keep topics: ${source} must be the path of a file or a URL`;
  if (text === "") throw new TypeError(`${rule}, got nothing`);
  // The text may contain a password.
  if (text.includes("://")) throw new TypeError(`${rule}, got a URL that cannot be read`);
  return inFolder(text);
}

/** The path is joined where the file is opened, since `node:path` takes long to load. */
function inFolder(path: string): FileLocation {
  return { path, folder: Deno.cwd() };
}

function fromUrl(url: URL, token: string | undefined): KvLocation {
  if (url.protocol === "file:" && token === undefined) return inFolder(nodeUrl().fileURLToPath(url));
  if (url.protocol === "http:" || url.protocol === "https:") {
    // They would replace the token in requests.
    if (url.username === "" && url.password === "") return { url, token };
    throw new TypeError(
      "Cannot keep topics: their URL must have no user and no password, give the token by DENO_KV_ACCESS_TOKEN or topics as { url, token }",
    );
  }
  throw new TypeError(`Cannot keep topics: their URL must be one of https, http or file, got "${url.protocol}"`);
}
