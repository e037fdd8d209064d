import * as v from "valibot";
import { STATUS_TEXT } from "@std/http/status";
import { isAsyncGeneratorFunction } from "../../binding/dependency.ts";
import { WITHOUT_BODY } from "../../http/reply.ts";
import type { Route } from "../../routing/route.ts";
import { isSchema, nodeOf, type Schema, schemaFault } from "../../schema/schema.ts";
import { isAlwaysSent } from "../json_schema/optionality.ts";
import { BYTES, isBinary, mediaTypesOf } from "../json_schema/non_json.ts";
import { checkJson, type Models, pascalCase } from "../json_schema/models.ts";
import type { OpenAPIMediaType, OpenAPIOperation, OpenAPIReference, OpenAPIResponse } from "./document.ts";
import { checkOptions, type OptionNames } from "../../options.ts";
import type { InputSource, Issue, IssueCode, ProblemDetails } from "../../errors.ts";

/** The schemas of error replies. */

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
 * The type of {@linkcode Problem}: a schema that the functions of valibot take.
 *
 * It tells no more than they ask for. A type of valibot's own would make all that it refers to a part of what webfw exports.
 */
export interface ProblemSchema extends Schema<unknown, ProblemDetails> {
  /** Its kind. */
  readonly type: "loose_object";
  /** It is not async. */
  readonly async: false;
  /** What messages say was expected. */
  readonly expects: string;
  /** Carries the types; never there at run time. */
  readonly "~types"?: { readonly input: unknown; readonly output: ProblemDetails; readonly issue: never } | undefined;
  /** The function of valibot that made it. */
  readonly reference: () => never;
  /** How other libraries run it. */
  readonly "~standard": { readonly version: 1; readonly vendor: "valibot"; readonly validate: () => never };
  /** How valibot runs it. */
  readonly "~run": () => never;
}

const problem: v.GenericSchema<unknown, ProblemDetails> = v.pipe(v.looseObject(MEMBERS), v.title("Problem"));

/**
 * The schema of an error reply (RFC 9457), to document those of a route.
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
 */
export const Problem: ProblemSchema = problem as ProblemSchema;

/** The schema of the reply to input that does not fit, a 422. */
export const ValidationProblem: v.GenericSchema<unknown, ProblemDetails & { errors: Issue[] }> = v.pipe(
  v.looseObject({
    ...MEMBERS,
    status: v.literal(422),
    errors: v.pipe(v.array(IssueModel), v.description("All faults that were found.")),
  }),
  v.title("ValidationProblem"),
);

/** The replies of errors, which all operations share. */

/** What an application says of its error replies, where it shapes them itself. */
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

const SHAPE_OPTIONS: OptionNames<ErrorShape> = { schema: true, contentType: true };

/**
 * Checks what an application says of its error replies.
 *
 * @throws {TypeError} When it is no shape, or JSON cannot carry its schema.
 */
export function checkErrorShape(shape: ErrorShape): void {
  checkOptions(shape, SHAPE_OPTIONS, "set the error handler");
  const { schema, contentType } = shape;
  if (!isSchema(schema)) throw new TypeError(`Cannot set the error handler: "schema" ${schemaFault(schema)}`);
  if (contentType !== undefined && typeof contentType !== "string") {
    throw new TypeError(`Cannot set the error handler: "contentType" must be a string, got ${typeof contentType}`);
  }
  checkJson("output", schema, "error", "set the error handler");
}

/** The names of the replies under `components/responses`, and what they hold unless an application says otherwise. */
const REPLIES = {
  Problem: { description: "The request was refused, or failed.", model: Problem },
  ValidationProblem: {
    description:
      "The input does not fit what is described here. The faults are listed; of a large body it is the first one.",
    model: ValidationProblem,
  },
} as const;

type ReplyName = keyof typeof REPLIES;

const REFERENCES: Readonly<Record<ReplyName, OpenAPIReference>> = {
  Problem: { $ref: "#/components/responses/Problem" },
  ValidationProblem: { $ref: "#/components/responses/ValidationProblem" },
};

/**
 * How an application's error replies are shaped: by the framework, by a handler of its own that says how, or by one that says
 * nothing of it.
 */
export type ErrorShaping = "default" | ErrorShape | "untold";

const PROBLEM_JSON = "application/problem+json";
/** Any content type, but for those that are told beside it. */
const ANY_TYPE = "*/*";

/** The error replies of a document. */
export class ErrorReplies {
  readonly #shaping: ErrorShaping;
  readonly #used = new Set<ReplyName>();

  /**
   * Begins without any.
   *
   * @param shaping How the application's are shaped.
   */
  constructor(shaping: ErrorShaping) {
    this.#shaping = shaping;
  }

  /** The content type of those that routes declare. Where nothing is told of it, the model that was declared holds for any. */
  get contentType(): string {
    if (this.#shaping === "untold") return ANY_TYPE;
    return this.#shaping === "default" ? PROBLEM_JSON : this.#shaping.contentType ?? "application/json";
  }

  /**
   * Those of an operation, by status.
   *
   * Whatever stands around a handler may refuse a request, and anything may fail, so each operation has the whole ranges.
   *
   * @param canBeInvalid Whether its input can be refused with 422.
   */
  of(canBeInvalid: boolean): (readonly [status: number | string, reply: OpenAPIReference])[] {
    const others = [["4XX", this.#refer("Problem")], ["5XX", this.#refer("Problem")]] as const;
    return canBeInvalid ? [[422, this.#refer("ValidationProblem")], ...others] : [...others];
  }

  /**
   * What the operations refer to.
   *
   * Comes after them, since models of the application that have the same names were there first.
   */
  definitions(models: Models): Record<string, OpenAPIResponse> {
    const used = (Object.keys(REPLIES) as ReplyName[]).filter((name) => this.#used.has(name));
    // Only the framework's own replies are sure to be as RFC 9457 has them.
    const standard = this.#shaping === "default" ? " The body is as RFC 9457 describes it." : "";
    return Object.fromEntries(used.map((name) => {
      const description = REPLIES[name].description + standard;
      return [name, { description, content: this.#contentOf(name, models) }];
    }));
  }

  /**
   * A handler that says nothing of its replies may send anything, and gets a problem where it sends nothing. So a problem is told
   * by its content type, which is its own (RFC 9457), and any other as whatever it is: OpenAPI has the more specific type win.
   */
  #contentOf(name: ReplyName, models: Models): Record<string, OpenAPIMediaType> {
    if (typeof this.#shaping === "object") {
      return { [this.contentType]: { schema: models.jsonOutput(this.#shaping.schema, "Error") } };
    }
    const problem = { [PROBLEM_JSON]: { schema: models.jsonOutput(REPLIES[name].model) } };
    return this.#shaping === "untold" ? { ...problem, [ANY_TYPE]: {} } : problem;
  }

  #refer(name: ReplyName): OpenAPIReference {
    this.#used.add(name);
    return REFERENCES[name];
  }
}

/** Replies of the document: what a route answers with, by status. */

type Reply = OpenAPIResponse | OpenAPIReference;
type Content = Record<string, OpenAPIMediaType>;
type Replies = readonly (readonly [status: number, reply: OpenAPIResponse])[];

/** What is read of a route. */
type AnsweringRoute = Pick<Route, "handler" | "operationId" | "options">;

/**
 * The replies of a route, by status.
 *
 * @param route The route.
 * @param canBeInvalid Whether its input can be refused with 422.
 * @param models Takes up the models that are met.
 * @param errors Takes up the error replies that are met.
 */
export function repliesOf(
  route: AnsweringRoute,
  canBeInvalid: boolean,
  models: Models,
  errors: ErrorReplies,
): OpenAPIOperation["responses"] {
  const { operationId, options: { responses = {} } } = route;
  const success = successOf(route, models);
  const replies: (readonly [status: number | string, reply: Reply])[] = [...errors.of(canBeInvalid), ...success];
  for (const [code, schema] of Object.entries(responses)) {
    const status = Number(code);
    if (success.some(([known]) => known === status)) continue;
    const type = status < 400 ? "application/json" : errors.contentType;
    const content = contentOf(schema, type, `${pascalCase(operationId)}Result${code}`, models);
    replies.push([status, reply(status, content, schema)]);
  }
  return byStatus(replies);
}

/** More than any status. */
const FAR = 1_000_000;

/**
 * The replies as an object, the last one of each status.
 *
 * V8 keeps the values of keys that are numbers in an array, of some 600 places for a 422: most of the document, and of the time to
 * make it. A key that is far from the others has it keep them in a dictionary, and it stays with that.
 */
function byStatus(replies: Iterable<readonly [status: number | string, reply: Reply]>): Record<string, Reply> {
  const object: Record<string, Reply | undefined> = { [FAR]: undefined };
  for (const [status, reply] of replies) object[status] = reply;
  delete object[FAR];
  return object as Record<string, Reply>;
}

function successOf({ handler, operationId, options }: AnsweringRoute, models: Models): Replies {
  const { response, responses = {}, status } = options;
  if (isAsyncGeneratorFunction(handler)) {
    return streamed(status ?? 200, response ?? responses[status ?? 200], operationId, models);
  }
  return response ? modelled(response, status, operationId, models) : unmodelled(status, responses);
}

/** The values of a generator, each of which is a line. Without a model they may be bytes, which are sent as they are. */
function streamed(status: number, item: Schema | undefined, operationId: string, models: Models): Replies {
  const line = item && { "x-itemSchema": models.jsonOutput(item, `${pascalCase(operationId)}Item`) };
  const mayBeBytes = !item || item.type === "instance";
  const content: Content = {
    "application/jsonl": line ?? {},
    ...(mayBeBytes && { "application/octet-stream": { schema: BYTES } }),
  };
  return [[status, reply(status, content, item)]];
}

/** A result that is reduced to its model. Where that is `undefined`, there is nothing to send. */
function modelled(model: Schema, status: number | undefined, operationId: string, models: Models): Replies {
  const content = contentOf(model, "application/json", `${pascalCase(operationId)}Result`, models);
  if (!content) return [[status ?? 204, reply(status ?? 204, content, model)]];
  const sent = [status ?? 200, reply(status ?? 200, content, model)] as const;
  return status === undefined && !isAlwaysSent(model) ? [sent, [204, reply(204)]] : [sent];
}

/**
 * The reply of a route that declares no model: JSON, which most handlers return. What a handler
 * returns besides is not known here. If the route declares a success among its `responses`, that is
 * its only one.
 */
function unmodelled(status: number | undefined, declared: Readonly<Record<number, Schema>>): Replies {
  const isDeclared = status === undefined
    ? Object.keys(declared).some((code) => Number(code) < 400)
    : status in declared;
  if (isDeclared) return [];
  const isRedirect = status !== undefined && status >= 300 && status < 400;
  return [[status ?? 200, reply(status ?? 200, isRedirect ? undefined : { "application/json": {} })]];
}

function reply(status: number, content?: Content, schema?: Schema): OpenAPIResponse {
  const description = (schema && v.getDescription(schema as v.GenericSchema)) ??
    STATUS_TEXT[status as keyof typeof STATUS_TEXT] ?? `Status ${status}`;
  return { description, ...(content && !WITHOUT_BODY.has(status) && { content }) };
}

function contentOf(schema: Schema, type: string, name: string, models: Models): Content | undefined {
  if (schema.type === "void" || schema.type === "undefined") return undefined;
  // A file, or an instance of what may be a stream, is sent as it is.
  if (isBinary(schema) || schema.type === "instance") {
    const types = mediaTypesOf(nodeOf(schema));
    return Object.fromEntries((types.length > 0 ? types : ["*/*"]).map((mediaType) => [mediaType, { schema: BYTES }]));
  }
  return { [type]: { schema: models.jsonOutput(schema, name) } };
}
