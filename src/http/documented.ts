/** What documents show of a route and its handler does not see: replies, examples, callbacks. */
import { checkOptions, type OptionNames, quote } from "../base/options.ts";
import { isSchema, type Schema, schemaFault } from "../schema/schema.ts";
import { isToken } from "./headers.ts";
import type { OpenAPILink, OpenAPIMethod } from "./operation.ts";
import { isDeclaredReply, isMediaType } from "./replies/declared_reply.ts";

/**
 * An example of a body.
 *
 * @ignore
 */
export interface NamedExample {
  /** A summary in one line. */
  summary?: string;
  /** The description, in Markdown. */
  description?: string;
  /** The value, as JSON. */
  value: unknown;
}

/** Examples by their names. */
export type NamedExamples = Readonly<Record<string, NamedExample>>;

/** @ignore The option `examples` of a route. */
export interface RequestExamples {
  /** Examples of the body. */
  readonly body?: NamedExamples;
  /** Examples of the form. */
  readonly form?: NamedExamples;
}

/** A request that the application sends to a URL of the client. It is documented, and not sent. */
export interface DocumentedCallback {
  /** A URL with runtime expressions of OpenAPI, such as `{$request.body#/callback}`. */
  url: string;
  /** The schema of the JSON body. */
  body?: Schema;
  /**
   * The method.
   *
   * @default {"POST"}
   */
  method?: Uppercase<OpenAPIMethod>;
  /** A summary in one line. */
  summary?: string;
  /** The description, in Markdown. */
  description?: string;
}

/** A webhook that the application sends. */
export interface DocumentedWebhook {
  readonly name: string;
  readonly body: Schema;
  readonly summary: string | undefined;
  readonly description: string | undefined;
  readonly tags: readonly string[];
}

/** A documented reply. Without `schema` and `contentType` it has no content. */
export interface ReplyDescription {
  /** The content: a schema, `Events(…)`, `JsonLines(…)`, `Bytes(…)`, `Text(…)` or `Html()`. */
  schema?: Schema;
  /** The media type of a schema. By default JSON, for `Problem` that of RFC 9457. */
  contentType?: string;
  /** The meaning. By default the description of the schema, or the name of the status. */
  description?: string;
  /** The schemas of its headers, by case-insensitive names. */
  headers?: Readonly<Record<string, Schema>>;
  /** Named examples of the content. */
  examples?: NamedExamples;
  /** Operations that may follow, by name: `{ operationId, parameters }` of OpenAPI. */
  links?: Readonly<Record<string, OpenAPILink>>;
}

/** A documented reply, the schema of its content alone, or an array of alternatives. */
export type DocumentedReply = Schema | ReplyDescription | readonly (Schema | ReplyDescription)[];

/** Documented replies by status. */
export interface DocumentedReplies {
  /** The reply with a status. */
  readonly [status: number]: DocumentedReply;
  /** All errors of clients that have no entry. */
  readonly "4XX"?: DocumentedReply;
  /** All errors of the server that have no entry. */
  readonly "5XX"?: DocumentedReply;
  /** All replies that have no entry, errors included. */
  readonly default?: DocumentedReply;
}

const REPLY: OptionNames<ReplyDescription> = {
  schema: true,
  contentType: true,
  description: true,
  headers: true,
  examples: true,
  links: true,
};
const EXAMPLE: OptionNames<NamedExample> = { summary: true, description: true, value: true };
const CALLBACK: OptionNames<DocumentedCallback> = {
  url: true,
  body: true,
  method: true,
  summary: true,
  description: true,
};
const CALLBACK_METHODS = ["POST", "PUT", "PATCH", "DELETE", "GET", "HEAD", "OPTIONS"];

/** RFC 9110, section 15; and the ranges of OpenAPI. */
const STATUS = /^(?:[1-5]\d\d|[45]XX|default)$/;
/** OpenAPI 3.1.0, section 4.8.17.1. */
const LINK_NAME = /^[a-zA-Z0-9._-]+$/;
/** OpenAPI 3.1.0, section 4.8.18.3. */
const EXPRESSION = /^\$(?:url|method|statusCode|(?:request|response)\.(?:header|query|path|body).*)$/;

/** The alternatives of a status; empty if it is not declared. */
export function alternativesAt(responses: DocumentedReplies, status: number | string): readonly ReplyDescription[] {
  const declared = responses[status as number];
  if (declared === undefined) return [];
  return [declared].flat().map((reply) => isContent(reply) ? { schema: reply } : reply);
}

export function checkDocumentedReply(reply: unknown, status: string, action: string): void {
  if (!STATUS.test(status)) {
    throw new TypeError(
      `Cannot ${action}: "responses" has ${
        quote(status)
      }, which is not a status: write a number from 100 to 599, "4XX", "5XX" or default`,
    );
  }
  if (!Array.isArray(reply)) return checkAlternative(reply, status, `responses.${status}`, action);
  if (reply.length === 0) {
    throw new TypeError(`Cannot ${action}: "${status}" has no alternative, write [Schema, { schema, description }]`);
  }
  for (const [index, each] of reply.entries()) {
    checkAlternative(each, `${status}[${index}]`, `responses.${status}[${index}]`, action);
  }
}

function checkAlternative(reply: unknown, key: string, name: string, action: string): void {
  const fail = (reason: string): never => {
    throw new TypeError(`Cannot ${action}: ${reason}`);
  };
  if (isContent(reply)) return;
  if (!hasKnownKey(reply)) {
    return fail(`"${key}" ${schemaFault(reply, "a valibot schema or { schema, description, headers }")}`);
  }
  checkOptions(reply, REPLY, action, `${name}.`);
  const { schema, contentType, description, headers, examples, links } = reply;
  if (schema !== undefined && !isContent(schema)) fail(`"${name}.schema" ${schemaFault(schema)}`);
  if (contentType !== undefined && !isMediaType(contentType)) {
    fail(`"${name}.contentType" must be a media type such as "image/png", got ${quote(contentType)}`);
  }
  if (contentType !== undefined && isDeclaredReply(schema)) {
    fail(`"${name}.contentType" is that of the schema, which declares a reply: leave it out`);
  }
  checkText(description, `${name}.description`, action);
  if (headers !== undefined && (typeof headers !== "object" || headers === null || isSchema(headers))) {
    fail(`"${name}.headers" must be schemas by name, write { location: v.string() }`);
  }
  for (const [header, schema] of Object.entries(headers ?? {})) {
    if (!isToken(header)) fail(`${quote(header)} in "${name}.headers" is not the name of a header`);
    if (header.toLowerCase() === "content-type") {
      fail(`"${name}.headers" has ${quote(header)}, which the schema gives: leave it out`);
    }
    if (!isSchema(schema)) fail(`"${name}.headers.${header}" ${schemaFault(schema)}`);
  }
  if (examples !== undefined) checkExamples(examples, `${name}.examples`, action);
  if (links !== undefined) checkLinks(links, `${name}.links`, action);
}

/** An example has to be an object with a value; whether that is JSON is checked elsewhere. */
function checkExamples(examples: unknown, name: string, action: string): void {
  for (const [key, example] of namedObjects(examples, name, '{ short: { summary: "…", value: … } }', action)) {
    checkOptions(example as NamedExample, EXAMPLE, action, `${name}.${key}.`);
    const { summary, description, value } = example as NamedExample;
    if (value === undefined) throw new TypeError(`Cannot ${action}: "${name}.${key}" has no value, write { value: … }`);
    checkText(summary, `${name}.${key}.summary`, action);
    checkText(description, `${name}.${key}.description`, action);
  }
}

function checkLinks(links: unknown, name: string, action: string): void {
  for (const [key, link] of namedObjects(links, name, '{ item: { operationId: "getItem" } }', action)) {
    if (!LINK_NAME.test(key)) {
      throw new TypeError(`Cannot ${action}: ${quote(key)} in "${name}" must be of letters, digits, ".", "-" and "_"`);
    }
    const { operationId, operationRef } = link as OpenAPILink;
    if ((typeof operationId === "string") !== (typeof operationRef === "string")) continue;
    throw new TypeError(
      `Cannot ${action}: "${name}.${key}" must name one operation, write operationId: "getItem", or operationRef`,
    );
  }
}

/** Checks the option `examples` of a route. */
export function checkRequestExamples(value: unknown, option: string, action: string): void {
  const examples = Object.fromEntries(namedObjects(value, option, "{ body: { … } }", action));
  checkOptions<RequestExamples>(examples, { body: true, form: true }, action, "examples.");
  for (const [name, named] of Object.entries(examples)) checkExamples(named, `examples.${name}`, action);
}

/** Checks the option `callbacks` of a route. */
export function checkCallbacks(value: unknown, option: string, action: string): void {
  for (const [key, callback] of namedObjects(value, option, '{ paid: { url: "…", body: Invoice } }', action)) {
    const name = `${option}.${key}`;
    const fail = (reason: string): never => {
      throw new TypeError(`Cannot ${action}: "${name}${reason}`);
    };
    checkOptions(callback as DocumentedCallback, CALLBACK, action, `${name}.`);
    const { url, body, method = "POST", summary, description } = callback as DocumentedCallback;
    if (typeof url !== "string" || url === "") {
      fail(`.url" must be a URL with expressions, such as "{$request.body#/callback}", got ${quote(url)}`);
    }
    const wrong = Array.from(url.matchAll(/\{([^{}]*)\}/g), ([, inner]) => inner!).find((inner) =>
      !EXPRESSION.test(inner)
    );
    if (wrong !== undefined) {
      fail(
        `.url" has {${wrong}}, which is no runtime expression, write {$request.body#/${wrong}} for a key of the body`,
      );
    }
    if (body !== undefined && !isSchema(body)) fail(`.body" ${schemaFault(body)}`);
    if (!CALLBACK_METHODS.includes(method)) {
      fail(`.method" must be one of ${CALLBACK_METHODS.join(", ")}, got ${quote(method)}`);
    }
    if (body !== undefined && (method === "GET" || method === "HEAD")) {
      fail(`" has a body, which a ${method} request does not: leave it out`);
    }
    checkText(summary, `${name}.summary`, action);
    checkText(description, `${name}.description`, action);
  }
}

function namedObjects(value: unknown, name: string, cure: string, action: string): [name: string, value: object][] {
  const isObject = (value: unknown) => typeof value === "object" && value !== null && !Array.isArray(value);
  const entries = isObject(value) && !isSchema(value) ? Object.entries(value as object) : undefined;
  const wrong = entries?.find(([, each]) => !isObject(each));
  if (entries && !wrong) return entries;
  const place = wrong ? `${name}.${wrong[0]}` : name;
  throw new TypeError(`Cannot ${action}: "${place}" must be an object, write ${name}: ${cure}`);
}

function checkText(value: unknown, name: string, action: string): void {
  if (value === undefined || typeof value === "string") return;
  throw new TypeError(`Cannot ${action}: "${name}" must be a string, got ${quote(value)}`);
}

function isContent(value: unknown): value is Schema {
  return isSchema(value) || (isDeclaredReply(value) && value.type !== "replies");
}

function hasKnownKey(value: unknown): value is ReplyDescription {
  if (typeof value !== "object" || value === null || Array.isArray(value) || "~standard" in value) return false;
  const keys = Object.keys(value);
  return keys.length === 0 || keys.some((key) => Object.hasOwn(REPLY, key));
}
