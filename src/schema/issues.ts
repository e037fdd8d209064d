/** Issues for replies and logs, without values, from those of valibot. */
import type { InputSource, Issue } from "../base/errors.ts";
import type { Dataset, SchemaIssue, SchemaNode } from "./schema.ts";

/** The bounds of a reply. Characters count, because issues repeat the keys of paths. */
const MAX_ISSUES = 1000;
const MAX_LENGTH = 1024 * 1024;
const MAX_LOGGED = 20;

/** Labels in valibot's messages that add no information. */
const PLAIN_LABELS = new Set(["type", "value", "key"]);

/** @param root The path of the validated value. */
export function toIssue(issue: SchemaIssue, source: InputSource, root: readonly (string | number)[]): Issue {
  const path = [...root];
  for (const { key } of issue.path ?? []) path.push(typeof key === "number" ? key : String(key));
  const expected = expectedOf(issue);
  const found: Issue = { in: source, path, code: isMissing(issue) ? "missing" : "invalid", message: messageOf(issue) };
  if (expected !== null) found.expected = expected;
  return found;
}

export function boundIssues(issues: readonly Issue[]): readonly Issue[] {
  let length = 0;
  const end = issues.findIndex(({ path, message, expected = "" }, index) => {
    length += message.length + expected.length;
    for (const key of path) length += String(key).length;
    return index > 0 && (index >= MAX_ISSUES || length > MAX_LENGTH);
  });
  return end < 0 ? issues : issues.slice(0, end);
}

/** For a log. `whole` is the name of the value. */
export function summarizeIssues(issues: readonly SchemaIssue[], whole: string): string {
  const faults = issues.slice(0, MAX_LOGGED).map((issue) => {
    const place = (issue.path ?? []).map(({ key }) => String(key)).join(".");
    return `${place === "" ? whole : `"${place}"`} ${demandOf(issue)}`;
  });
  if (issues.length > MAX_LOGGED) faults.push(`and ${issues.length - MAX_LOGGED} more`);
  return faults.join(", ");
}

/** Ignores custom messages. */
export function demandOf(issue: SchemaIssue): string {
  if (isMissing(issue)) return "is missing";
  if (issue.type === "non_empty") return "should not be empty";
  const expected = expectedOf(issue);
  const label = isDefaultMessage(issue) ? labelOf(issue) : "";
  if (expected === null) return `should be ${label === "" ? "valid" : `a valid ${label}`}`;
  return label === "" || PLAIN_LABELS.has(label) ? `should be ${expected}` : `should be of ${label} ${expected}`;
}

/** Custom messages, and valibot's messages without the value at their end. */
function messageOf(issue: SchemaIssue): string {
  if (!isDefaultMessage(issue)) return issue.message;
  if (isMissing(issue)) return "Missing value";
  const expected = expectedOf(issue);
  const label = `Invalid ${labelOf(issue)}`;
  return expected === null ? label : `${label}: expected ${expected}`;
}

function expectedOf(issue: SchemaIssue): string | null {
  const { type, expected } = issue;
  if (expected === null || expected === "any" || expected === "unknown" || isNameOfKey(issue)) return null;
  if (type === "non_empty") return "not empty";
  if (type === "non_optional") return null;
  if (type === "non_nullish") return isMissing(issue) ? null : "not null";
  return expected.startsWith("!") ? `not ${expected.slice(1)}` : expected;
}

/** For a missing key, valibot expects its quoted name. */
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

/** valibot reports missing keys by the object schema, with only their names. */
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

/** `nonOptional` and the like expect "not undefined". */
function expectsOf({ type, expects, wrapped }: SchemaNode): string | null {
  return wrapped && type !== "nullable" ? expectsOf(wrapped) : expects ?? null;
}

function ownMessageOf({ message, wrapped }: SchemaNode): unknown {
  return message ?? (wrapped && ownMessageOf(wrapped));
}
