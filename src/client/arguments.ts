/** Writes arguments into URLs, as strings, and as JSON. */

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
    const filled = path.replace(/\{([^{}]+?)(\.\.\.)?\}/g, (_parameter, name: string, isRest?: string) => {
      const text = toTexts(left[name], name).join();
      delete left[name];
      // Platforms resolve dot segments, even encoded ones: the request would get another path.
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

/**
 * Writes each value as the server reads it: a `Date` in ISO 8601, others like `String()`. Omits
 * `undefined`.
 *
 * @throws {TypeError} If an object has no string form.
 */
export function toTexts(value: unknown, name: string): string[] {
  return [value].flat().filter((each) => each !== undefined).map((each) => {
    const text = each instanceof Date ? each.toISOString() : String(each);
    if (typeof each === "object" && text.startsWith("[object ")) {
      throw new TypeError(`Cannot send "${name}": it is an object`);
    }
    return text;
  });
}

/** A bigint becomes a string. Throws if there is no JSON form. */
export function toJson(value: unknown): string {
  const text = JSON.stringify(value, (_key, part) => typeof part === "bigint" ? `${part}` : part);
  if (text === undefined) throw new TypeError(`Cannot send ${typeof value} as JSON`);
  return text;
}
