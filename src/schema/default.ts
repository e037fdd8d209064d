/** Checks the defaults of inputs where they are declared. */
import { quote } from "../base/options.ts";
import { type Dataset, nodeOf, partsOf, runSchema, type Schema, type SchemaNode } from "./schema.ts";

/**
 * Refuses a default that its own schema refuses: each request without the value would be a 422 for
 * what its client has not sent. A default that a function makes is not checked, since it may
 * depend on the time. Neither is one below a lazy schema.
 *
 * @param schema The declared schema.
 * @param name The name of the input, for the message.
 * @throws {TypeError} If a default does not fit.
 */
export function checkDefaults(schema: Schema, name: string): void {
  const node = nodeOf(schema);
  for (const part of partsOf(node)) checkDefaults(part, name);
  const { default: value } = node;
  if (value === undefined || typeof value === "function" || node.async || node.type === "exact_optional") return;
  const message = refusalOf(node);
  if (message === undefined) return;
  throw new TypeError(
    `Cannot bind ${name}: the default ${quote(value)} does not fit (${message}), change it or its schema`,
  );
}

/** What valibot says of an absent value, which gets the default; undefined if it is taken. */
function refusalOf(node: SchemaNode): string | undefined {
  try {
    const { issues } = runSchema(node, node.type === "nullable" ? null : undefined, true) as Dataset;
    return issues?.[0].message;
  } catch {
    // A check of the schema may need what is there only later, such as a database.
    return undefined;
  }
}
