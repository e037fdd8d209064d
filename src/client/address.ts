/** Makes the address of a request from a path and its arguments. */
import { toText } from "./text.ts";

/**
 * What a call sends, by the names under which a handler gets it: the path and query flat, and the
 * other parts of a request.
 */
export interface Values {
  readonly headers?: Readonly<Record<string, unknown>> | undefined;
  readonly cookies?: Readonly<Record<string, unknown>> | undefined;
  readonly body?: unknown;
  readonly form?: Readonly<Record<string, unknown>> | undefined;
  readonly [name: string]: unknown;
}

/**
 * The base of all addresses, without a slash at its end.
 *
 * @param base An address of HTTP, or in pages a path.
 * @throws {TypeError} If it is neither, or has a query.
 */
export function toBase(base: string | URL): string {
  const text = String(base);
  const isAddress = /^https?:\/\/[^?#]+$/.test(text);
  // Two slashes at the beginning would name another host.
  const isPath = globalThis.location && /^(?:\/(?!\/)[^?#]*)?$/.test(text);
  if (!isAddress && !isPath) {
    throw new TypeError(
      `Cannot make a client for "${text}": give an address such as "https://shop.example"`,
    );
  }
  return text.replace(/\/$/, "");
}

/**
 * The address of a request. What the path does not name is the query.
 *
 * @param base The base from {@linkcode toBase}.
 * @param path The path of a route, such as `/books/{id}`.
 * @param values The arguments.
 * @throws {TypeError} If an argument cannot stand in the path.
 */
export function addressOf(base: string, path: string, values: Values): string {
  const { headers: _headers, cookies: _cookies, body: _body, form: _form, ...others } = values;
  const left: Record<string, unknown> = others;
  const filled = path.replace(/\{([^{}]+?)(\.\.\.)?\}/g, (_parameter, name: string, isRest?: string) => {
    const text = left[name] === undefined ? "" : toText(left[name], name);
    delete left[name];
    // Platforms resolve dots, also encoded ones, so the request would come to another path.
    if (/^$|(^|\/)\.\.?(\/|$)/.test(text)) {
      throw new TypeError(`Cannot call ${path}: "${name}" is "${text}", which would change the path`);
    }
    const encoded = encodeURIComponent(text);
    return isRest ? encoded.replaceAll("%2F", "/") : encoded;
  });
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(left)) {
    for (const each of [value].flat()) if (each !== undefined) query.append(name, toText(each, name));
  }
  const address = (base + filled || "/") + `?${query}`.replace(/^\?$/, "");
  if (address.startsWith("//")) throw new TypeError(`Cannot call ${path}: "${address}" would name another host`);
  return address;
}
