import type { InputSource, Issue } from "../errors.ts";
import type { Dataset, SchemaIssue, SchemaNode } from "./schema.ts";

/** Turns valibot's issues into those of a reply, without the values that were sent. */

/** More faults than anyone reads. */
const MAX_ISSUES = 1000;
/** In characters. A long key stands in the path of each fault below it. */
const MAX_LENGTH = 1024 * 1024;
/** More faults than a line of a log needs. */
const MAX_LOGGED = 20;

/** Labels of messages after which the expectation needs no further word. */
const PLAIN_LABELS = new Set(["type", "value", "key"]);

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
  const expected = expectedOf(issue);
  const found: Issue = { in: source, path, code: isMissing(issue) ? "missing" : "invalid", message: messageOf(issue) };
  if (expected !== null) found.expected = expected;
  return found;
}

/** The first faults of a list, as many as a reply may hold. */
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
 * Says for a log what is wrong with a value of the application's own. The values stay out of it.
 *
 * @param issues What valibot found.
 * @param whole What the value is called.
 */
export function summarizeIssues(issues: readonly SchemaIssue[], whole: string): string {
  const faults = issues.slice(0, MAX_LOGGED).map((issue) => {
    const place = (issue.path ?? []).map(({ key }) => String(key)).join(".");
    return `${place === "" ? whole : `"${place}"`} ${demandOf(issue)}`;
  });
  if (issues.length > MAX_LOGGED) faults.push(`and ${issues.length - MAX_LOGGED} more`);
  return faults.join(", ");
}

function demandOf(issue: SchemaIssue): string {
  if (isMissing(issue)) return "is missing";
  if (issue.type === "non_empty") return "should not be empty";
  const expected = expectedOf(issue);
  const label = isDefaultMessage(issue) ? labelOf(issue) : "";
  if (expected === null) return `should be ${label === "" ? "valid" : `a valid ${label}`}`;
  return label === "" || PLAIN_LABELS.has(label) ? `should be ${expected}` : `should be of ${label} ${expected}`;
}

/** The message of the schema's author, or valibot's own without the value that it ends with. */
function messageOf(issue: SchemaIssue): string {
  if (!isDefaultMessage(issue)) return issue.message;
  if (isMissing(issue)) return "Missing value";
  const expected = expectedOf(issue);
  const label = `Invalid ${labelOf(issue)}`;
  return expected === null ? label : `${label}: expected ${expected}`;
}

/**
 * What was expected, in words where valibot has a sign for it; null where nothing is known of it.
 */
function expectedOf(issue: SchemaIssue): string | null {
  const { type, expected } = issue;
  if (expected === null || expected === "any" || expected === "unknown" || isNameOfKey(issue)) return null;
  if (type === "non_empty") return "not empty";
  if (type === "non_optional") return null;
  if (type === "non_nullish") return isMissing(issue) ? null : "not null";
  return expected.startsWith("!") ? `not ${expected.slice(1)}` : expected;
}

/** valibot expects of a missing key its own name, in quotes. */
function isNameOfKey({ expected, path }: SchemaIssue): boolean {
  const last = path?.at(-1);
  return last?.origin === "key" && expected === `"${String(last.key)}"`;
}

function isMissing({ kind, type, input }: SchemaIssue): boolean {
  return kind === "schema" && input === undefined && type !== "never";
}

/** valibot ends its own messages with the value it received. */
function isDefaultMessage({ message, received }: SchemaIssue): boolean {
  return message.startsWith("Invalid ") && message.endsWith(`eceived ${received}`);
}

function labelOf({ message }: SchemaIssue): string {
  return message.slice("Invalid ".length, message.indexOf(":"));
}

/**
 * Messages for missing keys. In valibot the object reports them, which knows only their names: here
 * the schema of the key does.
 */

/**
 * Replaces what an object schema says of its missing keys by what the schemas of these keys say.
 *
 * @param object An object schema.
 * @param dataset What it was run over.
 */
export function describeMissingKeys({ type, entries = {} }: SchemaNode, dataset: Dataset): Dataset {
  for (const issue of dataset.issues ?? []) {
    const [step, ...further] = issue.path ?? [];
    if (issue.type !== type || issue.input !== undefined || step?.origin !== "key" || further.length > 0) continue;
    const key = String(step.key);
    if (Object.hasOwn(entries, key)) describe(issue, entries[key]!);
  }
  return dataset;
}

function describe(issue: { -readonly [Key in keyof SchemaIssue]: SchemaIssue[Key] }, entry: SchemaNode): void {
  issue.expected = expectsOf(entry);
  const message = ownMessageOf(entry);
  if (message === undefined) return;
  issue.message = typeof message === "function" ? message({ ...issue, type: entry.type }) : String(message);
}

/**
 * A schema such as `nonOptional` says only what it refuses: the wrapped one says what it expects.
 */
function expectsOf({ type, expects, wrapped }: SchemaNode): string | null {
  return wrapped && type !== "nullable" ? expectsOf(wrapped) : expects ?? null;
}

/** The message of the schema, or of the wrapped one. A pipe has the message of its first step. */
function ownMessageOf({ message, wrapped }: SchemaNode): unknown {
  return message ?? (wrapped && ownMessageOf(wrapped));
}
