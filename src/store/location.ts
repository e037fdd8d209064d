/**
 * The option `topics` and `WEBFW_TOPICS`: where durable topics are stored, and the limits there.
 */
import { loadingCommand, mayRead, nodeUrl, readVariable } from "../base/runtime.ts";
import { checkOptions, type OptionNames, quote } from "../base/options.ts";
import type { StoreCapabilities, TopicStore } from "./topic_store.ts";

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
 * Servers of NATS with JetStream, 2.11 or later. With three servers, each message survives the loss
 * of one of them.
 *
 * @category Topics
 */
export interface TopicsServers {
  /** Separated by commas: `nats://a:4222,nats://b:4222`, or `tls://…`. */
  url: string;
  /** A token for the servers. */
  token?: string;
  /** A user of the servers. */
  user?: string;
  /** The password of the user. */
  password?: string;
  /** The content of a credentials file. */
  credentials?: string;
  /** For TLS: the certificate of the servers' authority in PEM, if Deno does not trust it. */
  tls?: { ca?: string };
  /**
   * How many servers store each message, 1 to 5.
   *
   * @default {1} 3 if three servers or more are named
   */
  replicas?: number;
  /**
   * The prefix of streams, buckets and subjects: letters, digits, `_` and `-`.
   *
   * @default {"webfw"}
   */
  prefix?: string;
}

/**
 * A database of PostgreSQL 14 or later. Messages can be published there within a transaction of
 * your own.
 *
 * @category Topics
 */
export interface TopicsPostgres {
  /**
   * Its address, `postgres://user@host:5432/database`. With `?sslmode=verify-full` the connection
   * is encrypted, and the certificate of the server verified.
   */
  url: string | URL;
  /** The password of the user; the one in the URL or `PGPASSWORD` unless given. */
  password?: string;
  /** For TLS: the certificate of the server's authority in PEM, if Deno does not trust it. */
  tls?: { ca?: string };
  /**
   * The schema of the tables: lower-case letters, digits and `_`. Applications with other schemas
   * share the database, but no topics.
   *
   * @default {"webfw"}
   */
  schema?: string;
}

/**
 * A file of SQLite that the application has for its own data, too. Topics are tables in it, whose
 * names begin with `webfw_`.
 *
 * @category Topics
 */
export interface TopicsSqlite {
  /** The path of the file. */
  sqlite: string;
}

/**
 * Where durable topics are stored: the path of a file, the address of a denokv (`https://…`), of
 * NATS servers (`nats://…`) or of PostgreSQL (`postgres://…`), also with their credentials, a file
 * of SQLite with your own tables (`{ sqlite }`), or your own store.
 */
export type TopicsLocation =
  | string
  | URL
  | TopicsDatabase
  | TopicsServers
  | TopicsPostgres
  | TopicsSqlite
  | TopicStore;

export interface FileLocation {
  readonly path: string;
  /** The folder of a relative path: the current one when the path was given. */
  readonly folder: string;
  /** The environment variable that could name another file, if the program may not read it. */
  readonly unread?: string;
}

export interface DatabaseLocation {
  readonly url: URL;
  readonly token: string | undefined;
}

/** The database that Deno Deploy has attached to the application. */
interface AttachedLocation {
  readonly isAttached: true;
}

export type KvLocation = FileLocation | DatabaseLocation | AttachedLocation;

export interface JetStreamLocation extends Omit<TopicsServers, "url"> {
  readonly servers: readonly URL[];
  readonly replicas: number;
  readonly prefix: string;
}

export interface PostgresLocation {
  readonly postgres: {
    readonly host: string;
    readonly port: number;
    readonly user: string;
    readonly database: string;
    readonly password: string | undefined;
    readonly tls: PostgresTls | undefined;
  };
  readonly schema: string;
}

export interface PostgresTls {
  /** Whether the certificate has to be one of a known authority, and to name the host. */
  readonly isVerified: boolean;
  readonly ca: string | undefined;
}

export interface SqliteLocation {
  /** The path, which is absolute. */
  readonly sqlite: string;
}

export type SqlLocation = PostgresLocation | SqliteLocation;

export type StoreLocation = KvLocation | JetStreamLocation | SqlLocation;

const SERVERS_OPTIONS: OptionNames<TopicsServers> = {
  url: true,
  token: true,
  user: true,
  password: true,
  credentials: true,
  tls: true,
  replicas: true,
  prefix: true,
};

const POSTGRES_OPTIONS: OptionNames<TopicsPostgres> = { url: true, password: true, tls: true, schema: true };

const SQLITE_OPTIONS: OptionNames<TopicsSqlite> = { sqlite: true };

const TLS_OPTIONS: OptionNames<NonNullable<TopicsServers["tls"]>> = { ca: true };

const DATABASE_OPTIONS: OptionNames<TopicsDatabase> = { url: true, token: true };

const MAX_REPLICAS = 5;
const DEFAULT_PORT = "4222";
const POSTGRES_PORT = 5432;

const POSTGRES_RULE = "Cannot keep topics: the URL of PostgreSQL must be like postgres://user@host:5432/database";

const VARIABLE = "WEBFW_TOPICS";
/** Relative to the program. */
const DEFAULT_FILE = ".webfw/topics.sqlite";

/** @throws {TypeError} If the option is no location, or its URL has a user or a password. */
export function toLocation(option: TopicsLocation): StoreLocation | TopicStore {
  if (typeof option === "string") return fromText(option, "topics");
  if (option instanceof URL) return fromUrl(option, undefined);
  if (typeof option === "object" && option !== null) {
    if ("append" in option && typeof option.append === "function") return option;
    if ("url" in option) {
      // A variable of the environment that is not set has no value.
      if (!option.url) {
        throw new TypeError(`Cannot keep topics: url must be a string or a URL, got ${quote(option.url)}`);
      }
      if (typeof option.url === "string" && isNats(option.url)) return fromServers(option as TopicsServers);
      if (isPostgres(String(option.url))) return fromPostgres(option as TopicsPostgres);
      checkOptions(option, DATABASE_OPTIONS, "keep topics");
      const { url, token } = option as TopicsDatabase;
      const address = URL.parse(url);
      if (address && (token === undefined || typeof token === "string")) return fromUrl(address, token);
    }
    if ("sqlite" in option) {
      checkOptions(option, SQLITE_OPTIONS, "keep topics");
      return fromSqlite((option as TopicsSqlite).sqlite);
    }
  }
  throw new TypeError(
    "Cannot keep topics: topics must be the path of a file, a URL, an object with url or sqlite, or a TopicStore",
  );
}

/**
 * The location of `WEBFW_TOPICS`, or a file beside the program.
 *
 * @throws {TypeError} If the variable is no location, or its URL has a user or a password.
 */
export function defaultLocation(): StoreLocation {
  const given = readVariable(VARIABLE);
  if (given) return fromText(given, VARIABLE);
  if (readVariable("DENO_DEPLOYMENT_ID")) return { isAttached: true };
  const program = URL.parse(loadingCommand()?.main ?? Deno.mainModule);
  const isFile = program?.protocol === "file:";
  const beside = inFolder(isFile ? toPath(new URL(DEFAULT_FILE, program)) : DEFAULT_FILE);
  return mayRead(VARIABLE) ? beside : { ...beside, unread: VARIABLE };
}

export function isLocationSet(): boolean {
  return Boolean(readVariable(VARIABLE) || readVariable("DENO_DEPLOYMENT_ID"));
}

function toPath(url: URL): string {
  const { pathname } = url;
  // Most paths do not need `node:url`, which takes longer to load than many applications take to
  // start.
  return Deno.build.os !== "windows" && !pathname.includes("%") ? pathname : nodeUrl().fileURLToPath(url);
}

function fromText(text: string, source: string): StoreLocation {
  if (isNats(text)) return fromServers({ url: text });
  if (isPostgres(text)) return fromPostgres({ url: text });
  if (/^sqlite:/i.test(text)) return fromSqlite(text.slice("sqlite:".length));
  if (/^[a-z]+:\/\//i.test(text)) {
    const url = URL.parse(text);
    if (url) return fromUrl(url, undefined);
  }
  const rule = `Cannot keep topics: ${source} must be the path of a file or a URL`;
  if (text === "") throw new TypeError(`${rule}, got nothing`);
  // The value may contain a password.
  if (text.includes("://")) throw new TypeError(`${rule}, got a URL that cannot be read`);
  return inFolder(text);
}

function isNats(url: string): boolean {
  return /^(?:nats|tls):/i.test(url);
}

function fromServers(option: TopicsServers): JetStreamLocation {
  checkOptions(option, SERVERS_OPTIONS, "keep topics");
  const { url, prefix = "webfw", ...rest } = option;
  for (const name of ["token", "user", "password", "credentials"] as const) {
    const value: unknown = rest[name];
    if (value !== undefined && typeof value !== "string") {
      throw new TypeError(`Cannot keep topics: ${name} must be a string`);
    }
  }
  if (rest.tls !== undefined) checkOptions(rest.tls, TLS_OPTIONS, "keep topics", "tls.");
  const servers = url.split(",").map((address) => toServer(address.trim()));
  const { replicas = servers.length >= 3 ? 3 : 1, user, password } = rest;
  if (!Number.isInteger(replicas) || replicas < 1 || replicas > MAX_REPLICAS) {
    throw new RangeError(`Cannot keep topics: replicas must be a number of 1 to ${MAX_REPLICAS}`);
  }
  if (!/^[A-Za-z0-9_-]{1,32}$/.test(prefix)) {
    throw new TypeError("Cannot keep topics: prefix must be 1 to 32 letters, digits, _ or -");
  }
  if ((user === undefined) !== (password === undefined)) {
    throw new TypeError("Cannot keep topics: user and password belong together, give both");
  }
  return { ...rest, servers, replicas, prefix };
}

function toServer(address: string): URL {
  const url = URL.parse(address);
  if (!url || !isNats(address) || url.hostname === "") {
    // The value may contain a password.
    throw new TypeError("Cannot keep topics: each address of a NATS server must be like nats://host:4222");
  }
  if (url.username !== "" || url.password !== "") {
    throw new TypeError(
      "Cannot keep topics: their URL must have no user and no password, give topics as { url, user, password } or { url, token }",
    );
  }
  if (url.port === "") url.port = DEFAULT_PORT;
  return url;
}

function isPostgres(url: string): boolean {
  return /^postgres(?:ql)?:/i.test(url);
}

function fromPostgres(option: TopicsPostgres): PostgresLocation {
  checkOptions(option, POSTGRES_OPTIONS, "keep topics");
  const { url: given, password, tls, schema = "webfw" } = option;
  if (password !== undefined && typeof password !== "string") {
    throw new TypeError("Cannot keep topics: password must be a string");
  }
  if (tls !== undefined) {
    checkOptions(tls, TLS_OPTIONS, "keep topics", "tls.");
    if (tls.ca !== undefined && !String(tls.ca).includes("-----BEGIN CERTIFICATE-----")) {
      throw new TypeError("Cannot keep topics: tls.ca must be a certificate in PEM, not the path of a file");
    }
  }
  // PostgreSQL has schemas of its own that begin with pg_.
  if (!/^(?!pg_)[a-z_][a-z0-9_]{0,62}$/.test(schema)) {
    throw new TypeError("Cannot keep topics: schema must be 1 to 63 lower-case letters, digits or _, and no pg_…");
  }
  // The value may contain a password.
  const url = URL.parse(given);
  const [user, inUrl, host, database] = url
    ? [url.username, url.password, url.hostname.replace(/^\[(.*)\]$/, "$1"), url.pathname.slice(1)].map(decode)
    : [];
  if (!url || !user || !host || !database) throw new TypeError(POSTGRES_RULE);
  if (inUrl && password !== undefined) {
    throw new TypeError("Cannot keep topics: the password is given twice, remove it from the URL");
  }
  const port = url.port === "" ? POSTGRES_PORT : Number(url.port);
  const postgres = { host, port, user, database, password: inUrl || password, tls: toTls(url, tls) };
  return { postgres, schema };
}

/** Empty if it is malformed. */
function decode(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return "";
  }
}

/** `require` verifies, too: an encrypted connection to an impostor protects nothing. */
function toTls({ searchParams }: URL, tls: TopicsPostgres["tls"]): PostgresTls | undefined {
  for (const name of searchParams.keys()) {
    // Addresses that operators of databases hand out also have the second one.
    if (name === "sslmode" || name === "channel_binding") continue;
    const cure = name === "sslrootcert" ? "give topics as { url, tls: { ca } }" : "remove it";
    throw new TypeError(`Cannot keep topics: the URL of PostgreSQL cannot have ${JSON.stringify(name)}, ${cure}`);
  }
  const mode = searchParams.get("sslmode");
  const secure = { isVerified: true, ca: tls?.ca };
  switch (mode) {
    case "require":
    case "verify-full":
      return secure;
    case null:
      return tls && secure;
  }
  if (tls) throw new TypeError("Cannot keep topics: with tls, sslmode must be verify-full or missing");
  if (mode === "no-verify") return { isVerified: false, ca: undefined };
  if (mode === "disable") return undefined;
  throw new TypeError("Cannot keep topics: sslmode must be verify-full, require, no-verify or disable");
}

function fromSqlite(path: unknown): SqliteLocation {
  if (typeof path !== "string" || path === "" || path.startsWith("//")) {
    throw new TypeError('Cannot keep topics: sqlite must be the path of a file, as in { sqlite: "shop.sqlite" }');
  }
  if (path.startsWith(":") || path.startsWith("file:")) {
    const cure = 'for tests, give topics: ":memory:"';
    throw new TypeError(`Cannot keep topics: sqlite must be the path of a file that several connections open, ${cure}`);
  }
  const isAbsolute = Deno.build.os === "windows" ? /^(?:[a-z]:)?[\\/]/i.test(path) : path.startsWith("/");
  return { sqlite: isAbsolute ? path : `${Deno.cwd()}/${path}` };
}

/** The path is joined where the file is opened, since `node:path` takes long to load. */
function inFolder(path: string): FileLocation {
  return { path, folder: Deno.cwd() };
}

function fromUrl(url: URL, token: string | undefined): StoreLocation {
  if (isNats(url.protocol)) return fromServers({ url: url.href, ...(token !== undefined && { token }) });
  if (isPostgres(url.protocol)) return fromPostgres({ url });
  if (url.protocol === "file:" && token === undefined) return inFolder(nodeUrl().fileURLToPath(url));
  if (url.protocol === "http:" || url.protocol === "https:") {
    // They would replace the token in requests.
    if (url.username === "" && url.password === "") return { url, token };
    throw new TypeError(
      "Cannot keep topics: their URL must have no user and no password, give the token by DENO_KV_ACCESS_TOKEN or topics as { url, token }",
    );
  }
  throw new TypeError(
    `Cannot keep topics: their URL must be one of https, http, nats, tls, postgres or file, got "${url.protocol}"`,
  );
}

/** The largest data of one write. With the longest type, it fits a value of 64 KiB. */
const MAX_DATA_BYTES = 60 * 1024;

export const KV_CAPABILITIES: StoreCapabilities = {
  durability: "disk",
  maxMessageBytes: MAX_DATA_BYTES,
  // An index in an entry has two hexadecimal digits; ff marks the last message.
  maxBatchMessages: 256,
  maxBatchBytes: MAX_DATA_BYTES,
  ids: { longest: Infinity, count: Infinity, outlivesMessage: true },
};

export function jetStreamCapabilities(replicas: number): StoreCapabilities {
  return {
    durability: replicas > 1 ? "quorum" : "disk",
    // As in Deno KV, so that a topic can move from one to the other.
    maxMessageBytes: MAX_DATA_BYTES,
    // A server takes 1,000 messages in an atomic batch.
    maxBatchMessages: 256,
    maxBatchBytes: 1024 * 1024,
    // A server that starts knows the ids of the messages that it still has.
    ids: { longest: 3_650 * 24 * 3_600_000, count: Infinity, outlivesMessage: false },
  };
}

/** Of PostgreSQL and SQLite. */
export const SQL_CAPABILITIES: StoreCapabilities = {
  durability: "disk",
  // As in Deno KV, so that a topic can move from one to the other.
  maxMessageBytes: MAX_DATA_BYTES,
  maxBatchMessages: 256,
  maxBatchBytes: 1024 * 1024,
  ids: { longest: Infinity, count: Infinity, outlivesMessage: true },
};
