/**
 * A value that a program gave, for a message. A text stands in quotes, since `got "404"` and
 * `got 404` are two mistakes.
 *
 * @param value The value.
 */
export function quote(value: unknown): string {
  if (typeof value === "string") return JSON.stringify(value);
  return (typeof value === "object" && value !== null) || typeof value === "function" ? typeof value : String(value);
}
