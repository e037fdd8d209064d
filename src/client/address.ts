/** Makes the address of a request from a path and its arguments. */
import { toTexts } from "./text.ts";

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
 * Makes the address of a request from the path of a route, such as `/books/{id}`, and its
 * arguments.
 */
export type AddressOf = (path: string, values: Values) => string;

/**
 * Makes addresses below a base. What a path does not name is the query.
 *
 * @param base An address of HTTP, or in pages a path.
 * @throws {TypeError} If it is neither, or has a password or a query. The function throws it if an
 * argument cannot stand in the path.
 */
export function addressesBelow(base: string | URL): AddressOf {
  const [, origin = globalThis.location?.origin, prefix = ""] =
    /^(https?:\/\/[^/?#@]+)?(\/[^?#]*)?$/.exec(String(base)) ?? ["", ""];
  // The message has no part of it, as it may hold a secret.
  if (!origin) {
    throw new TypeError('Cannot make a client: the base must be like "https://shop.example/v1", and have no password');
  }
  return (path, values) => {
    const others = { headers: undefined, cookies: undefined, body: undefined, form: undefined };
    // Without a prototype it has no names of its own.
    const left: Record<string, unknown> = { __proto__: null, ...values, ...others };
    const filled = path.replace(/\{([^{}]+?)(\.\.\.)?\}/g, (_parameter, name: string, isRest?: string) => {
      const text = toTexts(left[name], name).join();
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
      for (const text of toTexts(value, name)) query.append(name, text);
    }
    return origin + prefix.replace(/\/$/, "") + filled + `?${query}`.replace(/^\?$/, "");
  };
}
