/** Further replies that routes and scopes document. */
import { checkOptions, type OptionNames, quote } from "../../base/options.ts";
import { isSchema, type Schema, schemaFault } from "../../schema/schema.ts";
import { isDeclaredReply } from "./declared_reply.ts";

/** A documented reply. Without a schema it has no content. */
export interface ReplyDescription {
  /**
   * The content: a schema of JSON, or `Events(…)`, `JsonLines(…)`, `Bytes(…)`, `Text(…)`, `Html()`.
   */
  schema?: Schema;
  /** What the reply means. By default the description of the schema, or the name of the status. */
  description?: string;
  /** The schemas of its headers, by names in any case. */
  headers?: Readonly<Record<string, Schema>>;
}

/** A documented reply, or the schema of its content alone. */
export type DocumentedReply = Schema | ReplyDescription;

const KEYS: OptionNames<ReplyDescription> = { schema: true, description: true, headers: true };

/** RFC 9110, section 15. */
const STATUS = /^[1-5]\d\d$/;

/** RFC 9110, section 5.1. */
const HEADER_NAME = /^[\w!#$%&'*+.^`|~-]+$/;

/** The parts of a documented reply. */
export function partsOfReply(reply: DocumentedReply): ReplyDescription {
  return isContent(reply) ? { schema: reply } : reply;
}

/**
 * Checks a documented reply.
 *
 * @param action What is being done, for messages.
 * @throws {TypeError} If a part of it is wrong.
 */
export function checkDocumentedReply(reply: unknown, status: string, action: string): void {
  if (!STATUS.test(status)) {
    throw new TypeError(
      `Cannot ${action}: "responses" has ${quote(status)}, which is no status: write a number from 100 to 599`,
    );
  }
  if (isContent(reply)) return;
  if (!hasKnownKey(reply)) {
    const fault = schemaFault(reply, "a valibot schema or { schema, description, headers }");
    throw new TypeError(`Cannot ${action}: "${status}" ${fault}`);
  }
  checkOptions(reply, KEYS, action, `responses.${status}.`);
  const { schema, description, headers } = reply;
  if (schema !== undefined && !isContent(schema)) {
    throw new TypeError(`Cannot ${action}: "responses.${status}.schema" ${schemaFault(schema)}`);
  }
  if (description !== undefined && typeof description !== "string") {
    throw new TypeError(
      `Cannot ${action}: "responses.${status}.description" must be a text, got ${quote(description)}`,
    );
  }
  if (headers !== undefined && (typeof headers !== "object" || headers === null || isSchema(headers))) {
    throw new TypeError(
      `Cannot ${action}: "responses.${status}.headers" must be schemas by name, write { location: v.string() }`,
    );
  }
  for (const [name, header] of Object.entries(headers ?? {})) {
    if (!HEADER_NAME.test(name)) {
      throw new TypeError(
        `Cannot ${action}: ${quote(name)} in "responses.${status}.headers" is not the name of a header`,
      );
    }
    if (name.toLowerCase() === "content-type") {
      throw new TypeError(
        `Cannot ${action}: "responses.${status}.headers" has ${quote(name)}, which the schema gives: leave it out`,
      );
    }
    if (isSchema(header)) continue;
    throw new TypeError(`Cannot ${action}: "responses.${status}.headers.${name}" ${schemaFault(header)}`);
  }
}

function isContent(value: unknown): value is Schema {
  return isSchema(value) || (isDeclaredReply(value) && value.type !== "replies");
}

function hasKnownKey(value: unknown): value is ReplyDescription {
  if (typeof value !== "object" || value === null || Array.isArray(value) || "~standard" in value) return false;
  const keys = Object.keys(value);
  return keys.length === 0 || keys.some((key) => Object.hasOwn(KEYS, key));
}
