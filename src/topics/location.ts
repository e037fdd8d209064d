/** Where the store of durable topics is: as the application says, or the environment, or beside the program. */
import { mayRead, nodeUrl, readVariable } from "../runtime.ts";
import { checkOptions, type OptionNames } from "../options.ts";
import type { TopicStore } from "./store.ts";

/** A database of Deno KV on the network: a self-hosted denokv, or that of Deno Deploy. */
export interface TopicsDatabase {
  /** Its address, `https://…`. */
  url: string | URL;
  /** What it lets in. `DENO_KV_ACCESS_TOKEN` unless given. */
  token?: string;
}

/** Where durable topics are kept: the path of a file, the address of a database, or a store of the application's own. */
export type TopicsLocation = string | URL | TopicsDatabase | TopicStore;

/** A file of this machine. */
export interface FileLocation {
  /** Its path, or `:memory:`. */
  readonly path: string;
  /** The folder that the path begins at, unless it is absolute: that in which it was given. */
  readonly folder: string;
  /** The variable that could name another place, where the program may not read it. */
  readonly unread?: string;
}

/** A database on the network. */
export interface DatabaseLocation {
  /** Its address. */
  readonly url: URL;
  /** What it lets in. */
  readonly token: string | undefined;
}

/** What Deno Deploy has attached to the application. */
export interface AttachedLocation {
  /** Tells it from the others. */
  readonly isAttached: true;
}

/** Where a store in Deno KV is. */
export type KvLocation = FileLocation | DatabaseLocation | AttachedLocation;

const DATABASE_OPTIONS: OptionNames<TopicsDatabase> = { url: true, token: true };

/** The variable that names the place, where the application does not. */
const PLACE = "WEBFW_TOPICS";
/** Beside the program. */
const DEFAULT_FILE = ".webfw/topics.sqlite";

/** Where the command line says which module the program is: the one that Deno was given is a `data:` URL there. */
const MAIN: unique symbol = Symbol.for("webfw.main");

/**
 * Reads the option `topics`.
 *
 * @throws {TypeError} When it names no place, or its URL has a user or a password.
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
 * Where the store is unless the application says so: what `WEBFW_TOPICS` names, or a file beside the program.
 *
 * @throws {TypeError} When the variable names no place, or its URL has a user or a password.
 */
export function defaultLocation(): KvLocation {
  const given = readVariable(PLACE);
  if (given) return fromText(given, PLACE);
  if (readVariable("DENO_DEPLOYMENT_ID")) return { isAttached: true };
  const program = URL.parse(String(Reflect.get(globalThis, MAIN) ?? Deno.mainModule));
  const isFile = program?.protocol === "file:";
  const beside = inFolder(isFile ? toPath(new URL(DEFAULT_FILE, program)) : DEFAULT_FILE);
  return mayRead(PLACE) ? beside : { ...beside, unread: PLACE };
}

/** The path of a file's URL. */
function toPath(url: URL): string {
  const { pathname } = url;
  // Most need nothing of a module that takes longer to load than many applications to start.
  return Deno.build.os !== "windows" && !pathname.includes("%") ? pathname : nodeUrl().fileURLToPath(url);
}

function fromText(text: string, source: string): KvLocation {
  if (/^[a-z]+:\/\//i.test(text)) {
    const url = URL.parse(text);
    if (url) return fromUrl(url, undefined);
  }
  const rule = `Cannot keep topics: ${source} must be the path of a file or a URL`;
  if (text === "") throw new TypeError(`${rule}, got nothing`);
  // It is not told, since there may be a password in it.
  if (text.includes("://")) throw new TypeError(`${rule}, got a URL that cannot be read`);
  return inFolder(text);
}

/** Joined to a path where it is opened: what joins paths takes longer to load than many applications to start. */
function inFolder(path: string): FileLocation {
  return { path, folder: Deno.cwd() };
}

function fromUrl(url: URL, token: string | undefined): KvLocation {
  if (url.protocol === "file:" && token === undefined) return inFolder(nodeUrl().fileURLToPath(url));
  if (url.protocol === "http:" || url.protocol === "https:") {
    // They would be sent in place of the token.
    if (url.username === "" && url.password === "") return { url, token };
    throw new TypeError(
      "Cannot keep topics: their URL must have no user and no password, give the token by DENO_KV_ACCESS_TOKEN or topics as { url, token }",
    );
  }
  throw new TypeError(`Cannot keep topics: their URL must be one of https, http or file, got "${url.protocol}"`);
}
