/** Issues of replies and logs, made from those of valibot. They never contain the values. */
import type { InputSource, Issue } from "../base/errors.ts";
import type { Dataset, SchemaIssue, SchemaNode } from "./schema.ts";

/**
 * Bounds of a reply: its issues, and the characters in them. A long key is in the path of each
 * issue below it.
 */
const MAX_ISSUES = 1000;
const MAX_LENGTH = 1024 * 1024;
const MAX_LOGGED = 20;

/** Labels of valibot's messages that add nothing to what is expected. */
const PLAIN_LABELS = new Set(["type", "value", "key"]);

/**
 * Converts an issue for the client.
 *
 * @param issue An issue of valibot.
 * @param source The part of the request that holds the value.
 * @param root The path to the value that was validated.
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
  const expected = expectedOf(issue);
  const found: Issue = { in: source, path, code: isMissing(issue) ? "missing" : "invalid", message: messageOf(issue) };
  if (expected !== null) found.expected = expected;
  return found;
}

/** Cuts a list of issues to the size of a reply. */
export function boundIssues(issues: readonly Issue[]): readonly Issue[] {
  let length = 0;
  const end = issues.findIndex(({ path, message, expected = "" }, index) => {
    length += message.length + expected.length;
    for (const key of path) length += String(key).length;
    return index > 0 && (index >= MAX_ISSUES || length > MAX_LENGTH);
  });
  return end < 0 ? issues : issues.slice(0, end);
}

/**
 * Describes, for a log, the issues of a value that the application made.
 *
 * @param issues Issues of valibot.
 * @param whole The name of the value.
 */
export function summarizeIssues(issues: readonly SchemaIssue[], whole: string): string {
  const faults = issues.slice(0, MAX_LOGGED).map((issue) => {
    const place = (issue.path ?? []).map(({ key }) => String(key)).join(".");
    return `${place === "" ? whole : `"${place}"`} ${demandOf(issue)}`;
  });
  if (issues.length > MAX_LOGGED) faults.push(`and ${issues.length - MAX_LOGGED} more`);
  return faults.join(", ");
}

/** What a value should be, in words that are no message of the schema. */
export function demandOf(issue: SchemaIssue): string {
  if (isMissing(issue)) return "is missing";
  if (issue.type === "non_empty") return "should not be empty";
  const expected = expectedOf(issue);
  const label = isDefaultMessage(issue) ? labelOf(issue) : "";
  if (expected === null) return `should be ${label === "" ? "valid" : `a valid ${label}`}`;
  return label === "" || PLAIN_LABELS.has(label) ? `should be ${expected}` : `should be of ${label} ${expected}`;
}

/** A custom message as it is; a message of valibot without the value at its end. */
function messageOf(issue: SchemaIssue): string {
  if (!isDefaultMessage(issue)) return issue.message;
  if (isMissing(issue)) return "Missing value";
  const expected = expectedOf(issue);
  const label = `Invalid ${labelOf(issue)}`;
  return expected === null ? label : `${label}: expected ${expected}`;
}

/** The expectation in words; null if there is none. */
function expectedOf(issue: SchemaIssue): string | null {
  const { type, expected } = issue;
  if (expected === null || expected === "any" || expected === "unknown" || isNameOfKey(issue)) return null;
  if (type === "non_empty") return "not empty";
  if (type === "non_optional") return null;
  if (type === "non_nullish") return isMissing(issue) ? null : "not null";
  return expected.startsWith("!") ? `not ${expected.slice(1)}` : expected;
}

/** For a missing key, valibot expects the name of the key in quotes. */
function isNameOfKey({ expected, path }: SchemaIssue): boolean {
  const last = path?.at(-1);
  return last?.origin === "key" && expected === `"${String(last.key)}"`;
}

function isMissing({ kind, type, input }: SchemaIssue): boolean {
  return kind === "schema" && input === undefined && type !== "never";
}

function isDefaultMessage({ message, received }: SchemaIssue): boolean {
  return message.startsWith("Invalid ") && message.endsWith(`eceived ${received}`);
}

function labelOf({ message }: SchemaIssue): string {
  return message.slice("Invalid ".length, message.indexOf(":"));
}

/**
 * Gives each missing key the expectation and message of the schema of its value. valibot reports
 * missing keys by the object schema, which has only their names.
 *
 * @param object The object schema.
 * @param dataset Its result.
 */
export function describeMissingKeys({ type, entries = {} }: SchemaNode, dataset: Dataset): Dataset {
  for (const issue of dataset.issues ?? []) {
    const [step, ...further] = issue.path ?? [];
    if (issue.type !== type || issue.input !== undefined || step?.origin !== "key" || further.length > 0) continue;
    const key = String(step.key);
    if (Object.hasOwn(entries, key)) describeMissingKey(issue, entries[key]!);
  }
  return dataset;
}

function describeMissingKey(
  issue: { -readonly [Key in keyof SchemaIssue]: SchemaIssue[Key] },
  entry: SchemaNode,
): void {
  issue.expected = expectsOf(entry);
  const message = ownMessageOf(entry);
  if (message === undefined) return;
  issue.message = typeof message === "function" ? message({ ...issue, type: entry.type }) : String(message);
}

/**
 * A schema such as `nonOptional` only names what it refuses; the wrapped schema has the
 * expectation.
 */
function expectsOf({ type, expects, wrapped }: SchemaNode): string | null {
  return wrapped && type !== "nullable" ? expectsOf(wrapped) : expects ?? null;
}

function ownMessageOf({ message, wrapped }: SchemaNode): unknown {
  return message ?? (wrapped && ownMessageOf(wrapped));
}
