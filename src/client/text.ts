/** Writes arguments: as text for paths, queries, headers, cookies and forms, and as JSON. */

/**
 * The texts of a value, or of each element of a list, as the server reads them: dates as ISO 8601,
 * the others as JavaScript writes them, also `null`. What is undefined has none.
 *
 * @param value The value.
 * @param name Its name, for the message.
 * @throws {TypeError} If it is an object without a text of its own.
 */
export function toTexts(value: unknown, name: string): string[] {
  return [value].flat().filter((each) => each !== undefined).map((each) => {
    const text = each instanceof Date ? each.toISOString() : String(each);
    if (typeof each === "object" && text.startsWith("[object ")) {
      throw new TypeError(`Cannot send "${name}": an object has no text form`);
    }
    return text;
  });
}

/**
 * Writes a value as JSON. A bigint becomes a text.
 *
 * @throws {TypeError} If it has no JSON form.
 */
export function toJson(value: unknown): string {
  const text = JSON.stringify(value, (_key, part) => typeof part === "bigint" ? `${part}` : part);
  if (text === undefined) throw new TypeError(`Cannot send a value of the type ${typeof value} as JSON`);
  return text;
}
