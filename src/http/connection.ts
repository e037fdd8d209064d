/** Connections of requests, from a server or through a mount, and base paths. */
import type { Logger } from "../log/log.ts";
import type { SignIn } from "./sign_in.ts";
import { quote } from "../base/options.ts";

/** The part of `Deno.ServeHandlerInfo` that webfw reads. */
export interface ConnectionInfo {
  /** The address of the client. */
  readonly remoteAddr?: Deno.Addr | undefined;
  /** Settles when the reply was sent, or has failed. */
  readonly completed?: Promise<void> | undefined;
}

export type Fetch = (request: Request, info?: ConnectionInfo) => Promise<Response>;

/** Finds the request of a connection, for the access log. */
export class LoggedConnection implements ConnectionInfo {
  readonly #info: ConnectionInfo | undefined;
  /** Undefined if the request did not reach the application. */
  context: Logger | undefined;
  /** False for requests of load balancers. */
  isLogged = true;

  constructor(info: ConnectionInfo | undefined) {
    this.#info = info;
  }

  get remoteAddr(): Deno.Addr | undefined {
    return this.#info?.remoteAddr;
  }

  get completed(): Promise<void> | undefined {
    return this.#info?.completed;
  }
}

/** What trusted proxies report about a request. */
export interface Forwarded {
  /** The address of the client, or of the last known proxy; null without a network. */
  readonly address: string | null;
  readonly scheme: "http" | "https" | undefined;
  /** `host[:port]`, well-formed. */
  readonly host: string | undefined;
  /** The path that a proxy strips, well-formed. */
  readonly prefix: string | undefined;
}

/** Where the connection of a mounted handler has its {@linkcode Mounted}. */
const MOUNTED = Symbol("webfw.mounted");

/** What an application passes to one that it mounts. */
export interface Mounted {
  readonly basePath: string;
  /** Whether the request has the path of the mount without a slash. */
  readonly isWithoutSlash: boolean;
  readonly forwarded: Forwarded | undefined;
  /** The request that the server received: only this one can become a WebSocket. */
  readonly received: Request;
  /** Whether the connection is of a server, and not of a test. */
  readonly hasServer: boolean;
  /** The sign-ins of the guards around the mount. */
  readonly signIns: readonly SignIn[];
  /** Names the caller by the guards around the mount; undefined without guards. */
  readonly callerOf: (() => Promise<string>) | undefined;
  /** Counts a further call of an agent's batch, and rejects with 429. Undefined without limits. */
  readonly countAgain: (() => Promise<void>) | undefined;
  /** Makes a link in the outer application. */
  readonly link: (target: object, values: Readonly<Record<string, unknown>>, isAbsolute: boolean) => string;
}

export function withMounted<Info extends ConnectionInfo>(info: Info, mounted: Mounted): Info {
  return Object.defineProperty(info, MOUNTED, { value: mounted, enumerable: true });
}

/** Undefined for a request that no application mounts. */
export function mountedOf(connection: ConnectionInfo | undefined): Mounted | undefined {
  return (connection as { readonly [MOUNTED]?: Mounted } | undefined)?.[MOUNTED];
}

/** For a request that ends before the reply is sent. */
export function withoutCompletion(connection: ConnectionInfo): ConnectionInfo {
  const mounted = mountedOf(connection);
  // The members of a server's connection are getters, which a spread would lose.
  const info = { remoteAddr: connection.remoteAddr };
  return mounted ? withMounted(info, mounted) : info;
}

/** Segments of path characters (RFC 3986, section 3.3), none empty: `//` would begin a host. */
const BASE_PATH = /^(?:\/(?:[\w.~!$&'()*+,;=:@-]|%[\da-f]{2})+)+$/i;

const DOT_SEGMENT = /\/(?:\.|%2e){1,2}(?:\/|$)/i;

const MAX_LENGTH = 1_024;

/** Parses a base path that a client may have written. Undefined if invalid; empty for the root. */
export function readBasePath(text: string): string | undefined {
  const path = text.endsWith("/") ? text.slice(0, -1) : text;
  return path === "" || isBasePath(path) ? path : undefined;
}

export function checkBasePath(path: unknown): string {
  if (path === "" || (typeof path === "string" && isBasePath(path))) return path;
  throw new TypeError(
    `Cannot make the App: "basePath" must be a path as URLs have it, without a slash at its end, such as "/api/v1", ` +
      `got ${quote(path)}`,
  );
}

/** A path of the application, below its base path. URLs with a host are left unchanged. */
export function belowBasePath(basePath: string, url: string): string {
  return /^\/(?!\/)/.test(url) ? basePath + url : url;
}

function isBasePath(path: string): boolean {
  return path.length <= MAX_LENGTH && BASE_PATH.test(path) && !DOT_SEGMENT.test(path);
}
