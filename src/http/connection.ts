/**
 * Connections of requests, as a server or an application with mounts describes them, and the base
 * path that a proxy or a mount strips.
 */
import type { Logger } from "../log/log.ts";
import type { SignIn } from "./sign_in.ts";
import { quote } from "../base/options.ts";

/** The connection of a request: the part of `Deno.ServeHandlerInfo` that webfw reads. */
export interface ConnectionInfo {
  /** The address of the client. */
  readonly remoteAddr?: Deno.Addr | undefined;
  /** Settles when the reply has been sent, or has failed. */
  readonly completed?: Promise<void> | undefined;
}

/** A connection that leads to its request, for the access log. */
export class LoggedConnection implements ConnectionInfo {
  readonly #info: ConnectionInfo | undefined;
  /** Writes entries of the request; undefined if the request did not reach the application. */
  context: Logger | undefined;

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

/** What trusted proxies say about a request. */
export interface Forwarded {
  /** The address of the client, or of the last proxy that is known; null without a network. */
  readonly address: string | null;
  readonly scheme: "http" | "https" | undefined;
  /** `host[:port]`, well-formed. */
  readonly host: string | undefined;
  /** The path that a proxy strips, well-formed. */
  readonly prefix: string | undefined;
}

/** The key of {@linkcode Mounted} in the connection that a mounted handler gets. */
const MOUNTED = Symbol("webfw.mounted");

/** What an application passes on to an application that it mounts. */
export interface Mounted {
  readonly basePath: string;
  /** Whether the path of the request ends with that of the mount, without a slash. */
  readonly isWithoutSlash: boolean;
  readonly forwarded: Forwarded | undefined;
  /** The request of the server, which alone can become a WebSocket. */
  readonly served: Request;
  /** Whether a server has the connection; a test has none. */
  readonly hasServer: boolean;
  /** The sign-ins that let the client through to the mount. */
  readonly signIns: readonly SignIn[];
  /** Names the caller by the guards around the mount; undefined if there are none. */
  readonly callerOf: (() => Promise<string>) | undefined;
  /**
   * Counts the request once more by the limits around the mount, and rejects with 429 beyond one: a
   * batch of an agent makes several calls in one request. Undefined if there are no limits.
   */
  readonly countAgain: (() => Promise<void>) | undefined;
}

/** Adds to a connection what a mounted application needs to know. */
export function withMounted<Info extends ConnectionInfo>(info: Info, mounted: Mounted): Info {
  return Object.defineProperty(info, MOUNTED, { value: mounted, enumerable: true });
}

/** What is known of the request of a mounted application; undefined where none mounts it. */
export function mountedOf(connection: ConnectionInfo | undefined): Mounted | undefined {
  return (connection as { readonly [MOUNTED]?: Mounted } | undefined)?.[MOUNTED];
}

/** The same connection for a request that ends before the reply is sent. */
export function withoutCompletion(connection: ConnectionInfo): ConnectionInfo {
  const mounted = mountedOf(connection);
  // The members of a server's connection are getters, which a spread would lose.
  const info = { remoteAddr: connection.remoteAddr };
  return mounted ? withMounted(info, mounted) : info;
}

/**
 * Segments of the characters of a path (RFC 3986, section 3.3). Each has one, so that it never
 * begins a host, as `//` would.
 */
const BASE_PATH = /^(?:\/(?:[\w.~!$&'()*+,;=:@-]|%[\da-f]{2})+)+$/i;

const DOT_SEGMENT = /\/(?:\.|%2e){1,2}(?:\/|$)/i;

const MAX_LENGTH = 1_024;

/**
 * Reads the base path that a proxy names, which a client may have written. A slash at its end is
 * left out.
 *
 * @returns Undefined if it is none; empty for the root.
 */
export function readBasePath(text: string): string | undefined {
  const path = text.endsWith("/") ? text.slice(0, -1) : text;
  return path === "" || isBasePath(path) ? path : undefined;
}

/**
 * Checks the option `basePath`.
 *
 * @throws {TypeError} If it is neither empty nor a path without a slash at its end.
 */
export function checkBasePath(path: unknown): string {
  if (path === "" || (typeof path === "string" && isBasePath(path))) return path;
  throw new TypeError(
    `Cannot make the App: "basePath" must be a path as URLs have it, without a slash at its end, such as "/api/v1", ` +
      `got ${quote(path)}`,
  );
}

/** A path or URL of the application, below its base path. URLs with a host stay as they are. */
export function belowBasePath(basePath: string, url: string): string {
  return /^\/(?!\/)/.test(url) ? basePath + url : url;
}

function isBasePath(path: string): boolean {
  return path.length <= MAX_LENGTH && BASE_PATH.test(path) && !DOT_SEGMENT.test(path);
}
