/** Writes arguments into URLs, and as JSON. */
import { fillPath, toQuery, type ValueOf } from "../base/address.ts";

/** Arguments of path and query by name, beside the other parts. */
export interface Values {
  readonly headers?: Readonly<Record<string, unknown>> | undefined;
  readonly cookies?: Readonly<Record<string, unknown>> | undefined;
  readonly body?: unknown;
  readonly form?: Readonly<Record<string, unknown>> | undefined;
  readonly [name: string]: unknown;
}

/** Makes a URL from a path such as `/books/{id}` and arguments. */
export type AddressOf = (path: string, values: Values) => string;

/**
 * Arguments that the path does not name become the query.
 *
 * @param base An HTTP URL, or in a page a path.
 * @throws {TypeError} If it is neither, or has a password or a query. The function throws it if a
 * value cannot be part of the path.
 */
export function addressesBelow(base: string | URL): AddressOf {
  const [, origin = globalThis.location?.origin, prefix = ""] =
    /^(https?:\/\/[^/?#@]+)?(\/[^?#]*)?$/.exec(String(base)) ?? ["", ""];
  // Not printed: the base may contain a password.
  if (!origin) {
    throw new TypeError('Cannot make a client: the base must be like "https://shop.example/v1", without a password');
  }
  return (path, values) => {
    // No prototype: names must not be inherited.
    const left: Record<string, unknown> = {
      __proto__: null,
      ...values,
      headers: undefined,
      cookies: undefined,
      body: undefined,
      form: undefined,
    };
    const take: ValueOf = (name) => {
      const value = left[name];
      delete left[name];
      return value;
    };
    const action = `call ${path}`;
    const filled = fillPath(path, take, action);
    return origin + prefix.replace(/\/$/, "") + filled + toQuery(Object.keys(left), take, action);
  };
}

/** A bigint becomes a string. Throws if there is no JSON form. */
export function toJson(value: unknown): string {
  const text = JSON.stringify(value, (_key, part) => typeof part === "bigint" ? `${part}` : part);
  if (text === undefined) throw new TypeError(`Cannot send ${typeof value} as JSON`);
  return text;
}
