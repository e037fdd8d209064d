/**
 * Messages for missing keys. In valibot the object reports them, which knows only their names: here
 * the schema of the key does.
 */
import type { Dataset, SchemaIssue, SchemaNode } from "./schema.ts";

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
  const message = messageOf(entry);
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
function messageOf({ message, wrapped }: SchemaNode): unknown {
  return message ?? (wrapped && messageOf(wrapped));
}
