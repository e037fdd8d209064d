/** Writes the form that an agent gave as its fields. */
import type { Issue } from "../../errors.ts";
import { tooLarge } from "../../http/body_refusal.ts";

/** Brackets nest, and what is before or between them is a name. */
const NO_NAME = /^$|[[\]]/;

/**
 * Writes a form as an urlencoded body. A list of values is one name that is repeated; what else nests does so in brackets.
 *
 * @param form What the agent gave. Anything but an object has no fields.
 * @param maxSize How large it may be, in bytes. Each value repeats the names around it, so that it
 * can be far larger than what was sent.
 * @param issues Takes up the names that cannot be written.
 * @throws {HTTPError} With 413, when it is too large.
 */
export function toFormText(form: unknown, maxSize: number, issues: Issue[]): string {
  const fields = new URLSearchParams();
  let size = 0;
  const append = (name: string, value: string): void => {
    size += name.length + value.length + 2;
    if (size > maxSize) throw tooLarge(maxSize, "The form is");
    fields.append(name, value);
  };
  const add = (name: string, value: unknown): void => {
    if (name.length > maxSize) throw tooLarge(maxSize, "The form is");
    if (!isNested(value)) append(name, String(value));
    else if (!Array.isArray(value)) addEntries(value, (key) => `${name}[${key}]`);
    else if (value.some(isNested)) value.forEach((item, index) => add(`${name}[${index}]`, item));
    else for (const item of value) add(name, item);
  };
  const addEntries = (object: object, nameOf: (key: string) => string): void => {
    for (const [key, value] of Object.entries(object)) {
      if (!NO_NAME.test(key)) add(nameOf(key), value);
      else issues.push({ in: "form", path: [key], code: "invalid", message: "Must be a name without brackets" });
    }
  };
  if (isNested(form) && !Array.isArray(form)) addEntries(form, (key) => key);
  return fields.toString();
}

function isNested(value: unknown): value is object {
  return typeof value === "object" && value !== null;
}
