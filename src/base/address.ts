/**
 * Writes values into paths and queries. The client has no other part of the framework than this.
 */

/** The value of a parameter, by its name. */
export type ValueOf = (name: string) => unknown;

/**
 * Fills a path such as `/files/{path...}`.
 *
 * @param action For messages: "call /files/{path...}".
 * @throws {TypeError} If a value is missing, or cannot be part of the path.
 */
export function fillPath(path: string, valueOf: ValueOf, action: string): string {
  return path.replace(/\{([^{}]+?)(\.\.\.)?\}|[^%{}]+/g, (part, name?: string, isRest?: string) => {
    // Of literal text, "%25" is encoded already.
    if (name === undefined) return encodeURI(part);
    const texts = toTexts(valueOf(name), name, action);
    if (texts.length === 0) throw new TypeError(`Cannot ${action}: "${name}" is missing`);
    const text = texts.join();
    // Platforms resolve dot segments, even encoded ones: the request would get another path.
    if (/^$|(^|\/)\.\.?(\/|$)/.test(text)) {
      throw new TypeError(`Cannot ${action}: "${name}" is "${text}", which would change the path`);
    }
    if (/\p{Surrogate}/u.test(text)) throw new TypeError(`Cannot ${action}: "${name}" is not well-formed Unicode`);
    const value = encodeURIComponent(text);
    return isRest ? value.replaceAll("%2F", "/") : value;
  });
}

/** A query with its question mark; empty without values. */
export function toQuery(names: Iterable<string>, valueOf: ValueOf, action: string): string {
  const query = new URLSearchParams();
  for (const name of names) {
    for (const text of toTexts(valueOf(name), name, action)) query.append(name, text);
  }
  return `?${query}`.replace(/^\?$/, "");
}

/**
 * Writes each value as the server reads it: a `Date` in ISO 8601, others like `String()`. Omits
 * `undefined`.
 *
 * @throws {TypeError} If a value has no string form.
 */
export function toTexts(value: unknown, name: string, action = "send the request"): string[] {
  return [value].flat().filter((each) => each !== undefined).map((each) => {
    const isDate = each instanceof Date;
    // The JSON of an invalid date is null.
    const text = String(isDate ? each.toJSON() : each);
    if (isDate ? text === "null" : typeof each === "object" && text.startsWith("[object ")) {
      throw new TypeError(`Cannot ${action}: "${name}" is ${isDate ? "an invalid date" : "an object"}`);
    }
    return text;
  });
}
