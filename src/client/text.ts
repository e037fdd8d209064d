/** Writes arguments as text, for paths, queries, headers, cookies and forms. */

/**
 * The text of a value, as the server reads it: dates as ISO 8601, the others as JavaScript writes
 * them, also `null`.
 *
 * @param value The value.
 * @param name Its name, for the message.
 * @throws {TypeError} If it is an object without a text of its own.
 */
export function toText(value: unknown, name: string): string {
  const text = value instanceof Date ? value.toISOString() : String(value);
  if (typeof value === "object" && text.startsWith("[object ")) {
    throw new TypeError(`Cannot send "${name}": an object has no text form`);
  }
  return text;
}
