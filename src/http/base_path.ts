/** The path below which an application is served: what a proxy or a mount takes off. */
import { quote } from "../base/options.ts";

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
