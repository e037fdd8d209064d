/** Turns valibot's issues into those of a reply, without the values that were sent. */
import type { InputSource, Issue } from "../errors.ts";
import type { SchemaIssue } from "./schema.ts";

/**
 * An issue for the client.
 *
 * @param issue What valibot found.
 * @param source Where the value was read from.
 * @param root The way to the value that was validated.
 */
export function toIssue(
  issue: SchemaIssue,
  source: InputSource,
  root: readonly (string | number)[],
): Issue {
  const path = [...root];
  for (const { key } of issue.path ?? []) {
    path.push(typeof key === "number" ? key : String(key));
  }
  const message = messageOf(issue);
  return issue.expected === null
    ? { in: source, path, message }
    : { in: source, path, message, expected: issue.expected };
}

/**
 * What was expected where a value of the application's own does not fit, for a message. The values stay out of it: it is logged.
 *
 * @param issues What valibot found.
 * @param whole What the value is called.
 */
export function expectationsOf(issues: readonly SchemaIssue[], whole: string): string {
  const faults = issues.map(({ path = [], expected }) => {
    const place = path.map(({ key }) => String(key)).join(".");
    return `${place === "" ? whole : `"${place}"`} should be ${expected ?? "valid"}`;
  });
  return faults.join(", ");
}

/** valibot ends its own messages with the value it received; a message of the schema's author stays as it is. */
function messageOf(issue: SchemaIssue): string {
  const { message, received, expected } = issue;
  if (isMissing(issue)) return "Missing value";
  if (!message.endsWith(`eceived ${received}`)) return message;
  const label = message.slice(0, message.indexOf(":"));
  return expected === null ? label : `${label}: expected ${expected}`;
}

function isMissing(
  { kind, type, input, path, message, received }: SchemaIssue,
): boolean {
  return kind === "schema" && input === undefined && type !== "never" &&
    type !== "strict_object" &&
    (path === undefined || path.length > 0) &&
    message.endsWith(`eceived ${received}`);
}
