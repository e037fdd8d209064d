/** The replies of operations by status, and the schemas of error replies. */
import { STATUS_TEXT } from "@std/http/status";
import * as v from "valibot";
import { type DeclaredReply, isAsyncGeneratorFunction } from "../../binding/dependency.ts";
import type { InputSource, Issue, IssueCode, ProblemDetails } from "../../base/errors.ts";
import { WITHOUT_BODY } from "../../http/reply.ts";
import {
  type DeclaredReply as DeclaredContent,
  isDeclaredReply,
  STREAM_TYPES,
} from "../../http/replies/declared_reply.ts";
import { alternativesAt, type DocumentedReplies, type ReplyDescription } from "../../http/documented.ts";
import type { RouteDeclaration } from "../../http/route_info.ts";
import { checkOptions, type OptionNames } from "../../base/options.ts";
import type { Route } from "../../routing/route.ts";
import { isBinary, isSchema, nodeOf, type Schema, schemaFault } from "../../schema/schema.ts";
import { checkJson, freeName, type Models, pascalCase } from "../json_schema/models.ts";
import { anyOf } from "../json_schema/json_schema.ts";
import { isAlwaysSent } from "../json_schema/optionality.ts";
import type { JsonSchema } from "../../schema/json_schema.ts";
import { BYTES, mediaTypesOf } from "../json_schema/values.ts";
import type { RouteInputs } from "../route/inputs.ts";
import type {
  OpenAPIExample,
  OpenAPIHeader,
  OpenAPIMediaType,
  OpenAPIOperation,
  OpenAPIReference,
  OpenAPIResponse,
} from "../../http/operation.ts";
import type { Idempotency } from "../../idempotency/options.ts";
import { examplesOf, liftAnnotations } from "./parameters.ts";

const TOO_MANY_REQUESTS: DeclaredReply = {
  status: 429,
  description: "There were too many requests.",
  headers: {
    "Retry-After": "The seconds after which to try again.",
    "RateLimit": "How many requests are left, and for how long (draft-ietf-httpapi-ratelimit-headers).",
    "RateLimit-Policy": "How many requests are let through in which time.",
  },
};

const WRONG_KEY: DeclaredReply = { status: 400, description: "The Idempotency-Key is malformed, or missing." };

const BUSY_KEY: DeclaredReply = {
  status: 409,
  description:
    "The first request with the Idempotency-Key still runs, or its reply was too large or too slow to be kept.",
  headers: { "Retry-After": "The seconds after which to try again." },
};

const OTHER_REQUEST: DeclaredReply = {
  status: 422,
  description: "The Idempotency-Key was used for another request.",
};

const OTHER_VERSION: DeclaredReply = { status: 412, description: "If-Match is not the present version." };

const NO_VERSION: DeclaredReply = { status: 428, description: "If-Match is missing." };

type Reply = OpenAPIResponse | OpenAPIReference;

/** The reply to a success. */
interface Success {
  readonly reply: OpenAPIResponse;
  /** Whether the content is that of the first documented alternative. */
  readonly isDocumented?: boolean;
}

type AnsweringRoute =
  & Pick<Route, "handler" | "operationId" | "options" | "isLimited">
  & Partial<Pick<Route, "idempotency">>;

/** A declared reply replaces that of a guard, and keeps its headers. */
export function repliesOf(
  route: AnsweringRoute,
  { canBeInvalid, dependencies }: Pick<RouteInputs, "canBeInvalid" | "dependencies">,
  models: Models,
  errors: ErrorReplies,
): OpenAPIOperation["responses"] {
  const { operationId, options: { responses = {}, ifMatch }, isLimited, idempotency } = route;
  const success = successOf(route, models);
  const refusals = mergeByStatus([
    ...dependencies.flatMap(({ replies }) => replies),
    ...(isLimited ? [TOO_MANY_REQUESTS] : []),
    ...keyRefusals(idempotency, canBeInvalid),
    ...versionRefusals(ifMatch),
  ]);
  const replies: (readonly [status: number | string, reply: Reply])[] = [
    ...errors.of(canBeInvalid, responses),
    ...errors.ofGuards([...refusals.values()].filter(({ status }) => responses[status] === undefined)),
  ];
  const declared = Object.keys(responses).filter((code) => alternativesAt(responses, code).length > 0);
  for (const code of new Set([...success.keys().map(String), ...declared])) {
    const given = success.get(Number(code));
    const alternatives = alternativesAt(responses, code);
    const typeOf = ({ schema }: ReplyDescription) =>
      Number(code) < 400 ? "application/json" : errors.contentTypeOf(schema);
    const name = `${pascalCase(operationId)}Result${pascalCase(code)}`;
    const content = contentOfAll(given, alternatives, typeOf, name, models);
    const headers = headersOf(refusals.get(Number(code))?.headers, alternatives, models);
    const links = Object.assign({}, ...alternatives.map(({ links }) => links));
    replies.push([code, {
      description: descriptionOf(alternatives) ?? given?.reply.description ?? phraseOf(code),
      ...(hasMembers(headers) && { headers }),
      ...(content && !WITHOUT_BODY.has(Number(code)) && { content }),
      ...(hasMembers(links) && { links }),
    }]);
  }
  return byStatus(replies);
}

/** Undefined if none of them, and none of their schemas, has one. */
function descriptionOf(alternatives: readonly ReplyDescription[]): string | undefined {
  const all = alternatives.map(({ description, schema }) => description ?? (schema && ownDescription(schema)));
  const own = new Set(all.filter((each) => each !== undefined));
  return own.size > 0 ? [...own].join("\n\n") : undefined;
}

function ownDescription(schema: Schema): string | undefined {
  return v.getDescription(schema as v.GenericSchema);
}

const PHRASES: Readonly<Record<string, string>> = {
  "4XX": "The request was refused.",
  "5XX": "The server failed.",
  default: "Any other reply.",
};

function phraseOf(code: number | string): string {
  return STATUS_TEXT[Number(code) as keyof typeof STATUS_TEXT] ?? PHRASES[code] ?? `Status ${code}`;
}

function hasMembers(object: object): boolean {
  return Object.keys(object).length > 0;
}

/**
 * The content of a success and of documented alternatives. Examples of an entry without content
 * are those of all content.
 */
function contentOfAll(
  success: Success | undefined,
  alternatives: readonly ReplyDescription[],
  typeOf: (entry: ReplyDescription) => string,
  name: string,
  models: Models,
): Content | undefined {
  const contents = success?.reply.content ? [success.reply.content] : [];
  const shared: Record<string, OpenAPIExample> = {};
  for (const [index, { examples, ...given }] of alternatives.entries()) {
    const entry = index === 0 && success?.isDocumented ? {} : given;
    const number = contents.length + 1;
    const content = entryContent(entry, typeOf(entry), number === 1 ? name : `${name}Alternative${number}`, models);
    const named = examplesOf(examples);
    if (content) contents.push(named ? withExamples(content, named) : content);
    else Object.assign(shared, named);
  }
  if (!hasMembers(shared)) return mergeContents(contents);
  return withExamples(mergeContents(contents) ?? { [typeOf({})]: {} }, shared);
}

function entryContent(
  { schema, contentType }: ReplyDescription,
  type: string,
  name: string,
  models: Models,
): Content | undefined {
  const content = schema && contentOf(schema, contentType ?? type, name, models);
  if (contentType === undefined) return content;
  return { [withoutParameters(contentType)]: Object.values(content ?? {})[0] ?? {} };
}

function withExamples(content: Content, examples: Record<string, OpenAPIExample>): Content {
  return Object.fromEntries(
    Object.entries(content).map(([type, media]) => [type, { ...media, examples: { ...media.examples, ...examples } }]),
  );
}

/** Alternatives of one media type become one schema. */
function mergeContents(contents: readonly Content[]): Content | undefined {
  if (contents.length < 2) return contents[0];
  const types = new Set(contents.flatMap((content) => Object.keys(content)));
  return Object.fromEntries(Array.from(types, (type) => {
    const media = contents.flatMap((content) => content[type] ?? []);
    if (media.length === 1) return [type, media[0]!];
    const merged: OpenAPIMediaType = {};
    for (const member of ["schema", "x-itemSchema"] as const) {
      const schemas = media.map((each) => each[member]).filter((schema) => schema !== undefined);
      // Equal references are to one model: their text is the placeholder of its name.
      const distinct = [...new Map(schemas.map((schema) => [JSON.stringify(schema), schema] as const)).values()];
      if (distinct.length > 0) merged[member] = anyOf(distinct);
    }
    const examples = Object.assign({}, ...media.map(({ examples }) => examples));
    return [type, hasMembers(examples) ? { ...merged, examples } : merged];
  }));
}

/** A 422 of invalid input takes precedence. */
export function keyRefusals(idempotency: Idempotency | undefined, canBeInvalid: boolean): readonly DeclaredReply[] {
  if (!idempotency) return [];
  return canBeInvalid ? [WRONG_KEY, BUSY_KEY] : [WRONG_KEY, BUSY_KEY, OTHER_REQUEST];
}

function versionRefusals(ifMatch: RouteDeclaration["ifMatch"]): readonly DeclaredReply[] {
  if (ifMatch === undefined) return [];
  return ifMatch === "required" ? [OTHER_VERSION, NO_VERSION] : [OTHER_VERSION];
}

function mergeByStatus(replies: readonly DeclaredReply[]): Map<number, DeclaredReply> {
  const merged = new Map<number, DeclaredReply>();
  for (const reply of replies) {
    const known = merged.get(reply.status);
    if (!known) merged.set(reply.status, reply);
    else if (known !== reply) merged.set(reply.status, mergeReplies(known, reply));
  }
  return merged;
}

function mergeReplies(one: DeclaredReply, other: DeclaredReply): DeclaredReply {
  const description = one.description.includes(other.description)
    ? one.description
    : `${one.description} ${other.description}`;
  return { status: one.status, description, headers: { ...one.headers, ...other.headers } };
}

/** Headers of the route take precedence. Only those of all alternatives are required. */
function headersOf(
  own: Readonly<Record<string, string>> | undefined,
  alternatives: readonly ReplyDescription[],
  models: Models,
): Record<string, OpenAPIHeader> {
  const described = Object.entries(own ?? {}).map(([name, description]) => {
    return [name, { description, schema: { type: "string" } }] as const;
  });
  const isInAll = (name: string) => alternatives.every(({ headers = {} }) => name in headers);
  const others = alternatives.flatMap(({ headers = {} }) => Object.entries(headers)).map(([name, schema]) => {
    const required = isInAll(name) && isAlwaysSent(schema) && { required: true } as const;
    return [name, { ...required, ...liftAnnotations(models.jsonOutput(schema)) }] as const;
  });
  const known = new Set(others.map(([name]) => name.toLowerCase()));
  return Object.fromEntries([...described.filter(([name]) => !known.has(name.toLowerCase())), ...others]);
}

const FAR = 1_000_000;

/**
 * A later reply replaces an earlier one of the same status.
 *
 * V8 stores numeric keys as an array of some 600 elements, which takes most of the memory and time
 * of the document. A large key turns it into a dictionary for good.
 */
function byStatus(replies: Iterable<readonly [status: number | string, reply: Reply]>): Record<string, Reply> {
  const object: Record<string, Reply | undefined> = { [FAR]: undefined };
  for (const [status, reply] of replies) object[status] = reply;
  delete object[FAR];
  return object as Record<string, Reply>;
}

function successOf({ handler, operationId, options }: AnsweringRoute, models: Models): ReadonlyMap<number, Success> {
  const { response, responses = {}, status = 200 } = options;
  const isGenerator = isAsyncGeneratorFunction(handler);
  const declared = response ?? (isGenerator ? alternativesAt(responses, status)[0]?.schema : undefined);
  const isDocumented = response === undefined && declared !== undefined;
  const one = (content: Content | undefined, schema: Schema | undefined) =>
    new Map([[status, { reply: reply(status, content, schema), isDocumented }]]);
  if (isDeclaredReply(declared) && declared.type === "replies") {
    const plain = options.status ?? Math.min(...declared.entries.keys());
    return new Map(Array.from(declared.entries, ([code, model]) => {
      const name = `${pascalCase(operationId)}Result${code === plain ? "" : code}`;
      return [code, { reply: reply(code, contentOf(model, "application/json", name, models), model) }] as const;
    }));
  }
  if (isDeclaredReply(declared)) {
    const item = "item" in declared ? declared.item : undefined;
    return one(contentOf(declared, "", `${pascalCase(operationId)}Item`, models), item);
  }
  if (isGenerator) return one(generatedContent(declared, `${pascalCase(operationId)}Item`, models), declared);
  return response ? modelReply(response, options.status, operationId, models) : defaultReply(options.status, responses);
}

/** The result `undefined` is sent as 204. */
function modelReply(
  model: Schema,
  status: number | undefined,
  operationId: string,
  models: Models,
): ReadonlyMap<number, Success> {
  const content = contentOf(model, "application/json", `${pascalCase(operationId)}Result`, models);
  const code = status ?? (content ? 200 : 204);
  const replies = new Map([[code, { reply: reply(code, content, model) }]]);
  if (content && status === undefined && !isAlwaysSent(model)) replies.set(204, { reply: reply(204) });
  return replies;
}

/** JSON; empty if `responses` declares a success. */
function defaultReply(status: number | undefined, declared: DocumentedReplies): ReadonlyMap<number, Success> {
  const isDeclared = status === undefined
    ? Object.keys(declared).some((code) => Number(code) < 400)
    : status in declared;
  if (isDeclared) return new Map();
  const isRedirect = status !== undefined && status >= 300 && status < 400;
  return new Map([[status ?? 200, {
    reply: reply(status ?? 200, isRedirect ? undefined : { "application/json": {} }),
  }]]);
}

function reply(status: number, content?: Content, schema?: Schema): OpenAPIResponse {
  const description = (schema && ownDescription(schema)) ?? phraseOf(status);
  return { description, ...(content && !WITHOUT_BODY.has(status) && { content }) };
}

/** @ignore The schema of an application's own error replies. */
export interface ErrorShape {
  /** The body. */
  readonly schema: Schema;
  /**
   * The content type.
   *
   * @default {"application/json"}
   */
  readonly contentType?: string;
}

/** `undocumented`: an error handler without a schema. */
export type DocumentedErrors = "default" | "undocumented" | ErrorShape;

const SHAPE_OPTIONS: OptionNames<ErrorShape> = { schema: true, contentType: true };

/** @throws {TypeError} If it is no shape, or JSON cannot represent its schema. */
export function checkErrorShape(shape: ErrorShape): void {
  // Other frameworks take a class of errors first.
  if (typeof shape === "function") {
    throw new TypeError("Cannot set the error handler: there is one for all errors, write (error, request) => … alone");
  }
  checkOptions(shape, SHAPE_OPTIONS, "set the error handler");
  const { schema, contentType } = shape;
  if (!isSchema(schema)) throw new TypeError(`Cannot set the error handler: "schema" ${schemaFault(schema)}`);
  if (contentType !== undefined && typeof contentType !== "string") {
    throw new TypeError(`Cannot set the error handler: "contentType" must be a string, got ${typeof contentType}`);
  }
  checkJson("output", schema, "error", "set the error handler");
}

const SOURCES = ["path", "query", "header", "cookie", "body", "form"] as const satisfies readonly InputSource[];
const CODES = ["missing", "invalid"] as const satisfies readonly IssueCode[];

const IssueModel: v.GenericSchema<unknown, Issue> = v.pipe(
  v.object({
    in: v.pipe(v.picklist(SOURCES), v.description("Where the value was read from.")),
    path: v.pipe(
      v.array(v.union([v.string(), v.pipe(v.number(), v.integer())])),
      v.description("The way to the value: the name of the parameter, or the keys from the root of the body."),
    ),
    code: v.pipe(
      v.picklist(CODES),
      v.description("`missing`: a required value was not sent. `invalid`: a value was sent and does not fit."),
    ),
    message: v.pipe(v.string(), v.description("What is wrong.")),
    expected: v.exactOptional(v.pipe(v.string(), v.description("What was expected, such as the kind of the value."))),
  }),
  v.title("ValidationIssue"),
);

const MEMBERS = {
  type: v.pipe(v.string(), v.description("A URI that names the kind of problem.")),
  title: v.pipe(v.string(), v.description("The kind of problem in a few words.")),
  status: v.pipe(v.number(), v.integer(), v.minValue(400), v.maxValue(599), v.description("The status of the reply.")),
  detail: v.pipe(v.string(), v.description("What went wrong this time.")),
  instance: v.exactOptional(v.pipe(v.string(), v.description("A URI of this very occurrence."))),
};

/**
 * @ignore The schema {@linkcode Problem}, with the members that functions of valibot need. A type
 * of valibot would export all types that it refers to.
 */
export interface ProblemSchema extends Schema<unknown, ProblemDetails> {
  /** The kind of the schema. */
  readonly type: "loose_object";
  /** Whether it is async. */
  readonly async: false;
  /** The expected value, for messages. */
  readonly expects: string;
  /** Carries the types; never set at run time. */
  readonly "~types"?: { readonly input: unknown; readonly output: ProblemDetails; readonly issue: never } | undefined;
  /** The function of valibot that made it. */
  readonly reference: () => never;
  /** The interface of Standard Schema, by which other libraries run it. */
  readonly "~standard": { readonly version: 1; readonly vendor: "valibot"; readonly validate: () => never };
  /** The function by which valibot runs it. */
  readonly "~run": () => never;
}

const problem: v.GenericSchema<unknown, ProblemDetails> = v.pipe(v.looseObject(MEMBERS), v.title("Problem"));

/**
 * The schema of an error reply (RFC 9457), to document the errors of a route.
 *
 * @example A reply that clients have to expect
 * ```ts
 * import { App, HTTPError, Problem } from "@webfw/core";
 * import { assertEquals } from "@std/assert";
 * import * as v from "valibot";
 *
 * const NoSuchBook = v.pipe(Problem, v.description("There is no such book."));
 *
 * const app = new App();
 * app.get("/books/{id}", { responses: { 404: NoSuchBook } }, async () => {
 *   throw new HTTPError(404, "No such book");
 * });
 * const { responses } = app.openapi().paths["/books/{id}"]!.get!;
 * assertEquals(responses[404], {
 *   description: "There is no such book.",
 *   content: {
 *     "application/problem+json": {
 *       schema: { allOf: [{ $ref: "#/components/schemas/Problem" }], description: "There is no such book." },
 *     },
 *   },
 * });
 * ```
 *
 * @category Errors
 */
export const Problem: ProblemSchema = problem as ProblemSchema;

/** Or made from it by `v.pipe` or `v.intersect`. */
function isProblem(schema: Schema): boolean {
  if (schema === Problem) return true;
  const { pipe, type, options } = nodeOf(schema);
  if (pipe) return pipe.some((step) => step !== schema && step.kind === "schema" && isProblem(step as Schema));
  return type === "intersect" && (options as Schema[]).some(isProblem);
}

/** The schema of a 422. */
const ValidationProblem: v.GenericSchema<unknown, ProblemDetails & { errors: Issue[] }> = v.pipe(
  v.looseObject({
    ...MEMBERS,
    status: v.literal(422),
    errors: v.pipe(v.array(IssueModel), v.description("All faults that were found.")),
  }),
  v.title("ValidationProblem"),
);

/** The entries of `components/responses`. */
const ERROR_REPLIES = {
  Problem: { description: "The request was refused, or failed.", model: Problem },
  ValidationProblem: {
    description:
      "The input does not fit what is described here. The faults are listed; for a large body, only the first one is.",
    model: ValidationProblem,
  },
} as const;

type ErrorReplyName = keyof typeof ERROR_REPLIES;

const PROBLEM_JSON = "application/problem+json";
/** Any more specific type takes precedence. */
const ANY_TYPE = "*/*";

/** All operations of a document share them. */
export class ErrorReplies {
  readonly #documented: DocumentedErrors;
  readonly #used = new Set<ErrorReplyName>();
  readonly #refusals = new Map<string, DeclaredReply>();
  readonly #refusalNames = new Map<string, string>();

  constructor(documented: DocumentedErrors) {
    this.#documented = documented;
  }

  /**
   * Without an error handler, the framework sends `Problem` as RFC 9457, and the program sends
   * other schemas as JSON. An undocumented handler may send any type.
   */
  contentTypeOf(schema: Schema | undefined): string {
    if (this.#documented !== "default") return this.#contentType;
    return schema && !isProblem(schema) ? "application/json" : PROBLEM_JSON;
  }

  get #contentType(): string {
    if (this.#documented === "undocumented") return ANY_TYPE;
    return this.#documented === "default" ? PROBLEM_JSON : this.#documented.contentType ?? "application/json";
  }

  /**
   * Middleware may refuse any request, and any request may fail: each operation has 4XX and 5XX,
   * unless it declares them, or `default`.
   */
  of(
    canBeInvalid: boolean,
    declared: DocumentedReplies = {},
  ): (readonly [status: number | string, reply: OpenAPIReference])[] {
    const others = (["4XX", "5XX"] as const).filter((range) => (declared[range] ?? declared.default) === undefined)
      .map((range) => [range, this.#refer("Problem")] as const);
    const isInvalid = canBeInvalid && declared[422] === undefined;
    return isInvalid ? [[422, this.#refer("ValidationProblem")], ...others] : others;
  }

  ofGuards(replies: readonly DeclaredReply[]): (readonly [status: number, reply: OpenAPIReference])[] {
    return replies.map((reply) => [reply.status, { $ref: `#/components/responses/${this.#nameOf(reply)}` }]);
  }

  /** The phrase of the status, with a number if it is taken. */
  #nameOf(reply: DeclaredReply): string {
    const key = JSON.stringify([reply.status, reply.description, reply.headers]);
    let name = this.#refusalNames.get(key);
    if (name !== undefined) return name;
    const phrase = pascalCase(STATUS_TEXT[reply.status as keyof typeof STATUS_TEXT] ?? `Status ${reply.status}`);
    name = freeName(phrase, (name) => this.#refusals.has(name));
    this.#refusalNames.set(key, name);
    this.#refusals.set(name, reply);
    return name;
  }

  /** Call it after all operations: models of the application keep their names. */
  definitions(models: Models): Record<string, OpenAPIResponse> {
    const used = (Object.keys(ERROR_REPLIES) as ErrorReplyName[]).filter((name) => this.#used.has(name));
    // Only the framework's own replies always follow RFC 9457.
    const standard = this.#documented === "default" ? " The body is as RFC 9457 describes it." : "";
    const own = used.map((name) => {
      const description = ERROR_REPLIES[name].description + standard;
      return [name, { description, content: this.#contentOf(name, models) }] as const;
    });
    const refusals = Array.from(this.#refusals, ([name, { description, headers }]) => {
      const content = this.#contentOf("Problem", models);
      return [name, {
        description,
        ...(headers && { headers: headersOf(headers, [], models) }),
        content,
      }] as const;
    });
    return Object.fromEntries([...own, ...refusals]);
  }

  /** An undocumented handler may send any body, or leave the reply to the framework. */
  #contentOf(name: ErrorReplyName, models: Models): Record<string, OpenAPIMediaType> {
    if (typeof this.#documented === "object") {
      return { [this.#contentType]: { schema: models.jsonOutput(this.#documented.schema, "Error") } };
    }
    const problem = { [PROBLEM_JSON]: { schema: models.jsonOutput(ERROR_REPLIES[name].model) } };
    return this.#documented === "undocumented" ? { ...problem, [ANY_TYPE]: {} } : problem;
  }

  #refer(name: ErrorReplyName): OpenAPIReference {
    this.#used.add(name);
    return { $ref: `#/components/responses/${name}` };
  }
}

type Content = Record<string, OpenAPIMediaType>;

/** `type` is the media type of JSON, `name` names an object without a title. */
function contentOf(schema: Schema, type: string, name: string, models: Models): Content | undefined {
  if (isDeclaredReply(schema)) return declaredContent(schema, name, models);
  if (schema.type === "void" || schema.type === "undefined") return undefined;
  // Files and instances, which may be streams, are sent unchanged.
  if (isBinary(schema) || schema.type === "instance") {
    const types = mediaTypesOf(nodeOf(schema));
    return Object.fromEntries((types.length > 0 ? types : ["*/*"]).map((mediaType) => [mediaType, { schema: BYTES }]));
  }
  return { [type]: { schema: models.jsonOutput(schema, name) } };
}

/** Without a model, a generator may also yield bytes. */
function generatedContent(item: Schema | undefined, name: string, models: Models): Content {
  const mayBeBytes = !item || item.type === "instance";
  return {
    [STREAM_TYPES.json_lines]: item ? linesOf(models.jsonOutput(item, name)) : {},
    ...(mayBeBytes && { "application/octet-stream": { schema: BYTES } }),
  };
}

function declaredContent(declared: DeclaredContent, name: string, models: Models): Content | undefined {
  switch (declared.type) {
    case "events": {
      const data = declared.item && models.jsonOutput(declared.item, name);
      return { [STREAM_TYPES.events]: eventsOf(data) };
    }
    case "json_lines":
      return { [STREAM_TYPES.json_lines]: linesOf(models.jsonOutput(declared.item, name)) };
    case "bytes":
      return contentOfType(declared.mediaType, BYTES);
    case "text":
      return contentOfType(declared.mediaType, { type: "string" });
    case "replies":
      // Each of its replies has content of its own.
      return undefined;
  }
}

/** Not the schema of an array: openapi-python-client would parse the whole body as one. */
function linesOf(item: JsonSchema): OpenAPIMediaType {
  return { "x-itemSchema": item };
}

/** Without its data. */
export const EVENT_FIELDS: Readonly<Record<"id" | "event" | "retry", JsonSchema>> = {
  id: { type: "string", description: "What a client resumes after, as `Last-Event-ID`." },
  event: {
    type: "string",
    description:
      "The name of the event; without one it is `message`. `webfw.gap` says that messages are missing, with `reason`, `from` and `oldest` as data.",
  },
  retry: {
    type: "integer",
    format: "int64",
    minimum: 0,
    description: "The milliseconds after which a client connects again.",
  },
};

/**
 * The form of OpenAPI 3.2, with data as a string. The schema of the reply is that of the data for
 * generators whose clients parse it, such as hey-api.
 */
function eventsOf(data: JsonSchema | undefined): OpenAPIMediaType {
  const text: JsonSchema = {
    type: "string",
    ...(data && { contentMediaType: "application/json", contentSchema: data }),
  };
  const event: JsonSchema = { type: "object", properties: { ...EVENT_FIELDS, data: text } };
  return { ...(data && { schema: data }), "x-itemSchema": event };
}

/** Strings or bytes of JSON have no schema: that of a string would be wrong. */
function contentOfType(mediaType: string, schema: JsonSchema): Content {
  const type = withoutParameters(mediaType);
  return { [type]: /^[^/]+\/(?:.+\+)?json$/i.test(type) ? {} : { schema } };
}

function withoutParameters(mediaType: string): string {
  return mediaType.split(";", 1)[0]!.trimEnd();
}
