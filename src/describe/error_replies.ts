/** The replies of errors, which all operations share. */
import * as v from "valibot";
import type { InputSource, Issue, Problem } from "../errors.ts";
import { isSchema, type Schema } from "../schema/schema.ts";
import type { Models } from "./models.ts";
import type { OpenAPIReference, OpenAPIResponse } from "./openapi_document.ts";

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

/**
 * Checks what an application says of its error replies.
 *
 * @throws {TypeError} When it is no shape.
 */
export function checkErrorShape({ schema, contentType, ...unknown }: ErrorShape): void {
  for (const key of Object.keys(unknown)) {
    throw new TypeError(`Cannot set the error handler: the option "${key}" is unknown, use schema or contentType`);
  }
  if (!isSchema(schema)) throw new TypeError('Cannot set the error handler: "schema" must be a valibot schema');
  if (contentType !== undefined && typeof contentType !== "string") {
    throw new TypeError(`Cannot set the error handler: "contentType" must be a string, got ${typeof contentType}`);
  }
}

const SOURCES = ["path", "query", "header", "cookie", "body", "form"] as const satisfies readonly InputSource[];

const IssueModel: v.GenericSchema<unknown, Issue> = v.pipe(
  v.object({
    in: v.pipe(v.picklist(SOURCES), v.description("Where the value was read from.")),
    path: v.pipe(
      v.array(v.union([v.string(), v.number()])),
      v.description("The way to the value: the name of the parameter, or the keys from the root of the body."),
    ),
    message: v.pipe(v.string(), v.description("What is wrong.")),
    expected: v.exactOptional(v.pipe(v.string(), v.description("What was expected."))),
  }),
  v.title("ValidationIssue"),
);

const MEMBERS = {
  type: v.pipe(v.string(), v.description("A URI that names the kind of problem.")),
  title: v.pipe(v.string(), v.description("The kind of problem in a few words.")),
  status: v.pipe(v.number(), v.integer(), v.description("The status of the reply.")),
  detail: v.pipe(v.string(), v.description("What went wrong this time.")),
  instance: v.exactOptional(v.pipe(v.string(), v.description("A URI of this very occurrence."))),
};

const ProblemModel: v.GenericSchema<unknown, Problem> = v.pipe(v.looseObject(MEMBERS), v.title("Problem"));

const ValidationProblemModel: v.GenericSchema<unknown, Problem & { errors: Issue[] }> = v.pipe(
  v.looseObject({
    ...MEMBERS,
    status: v.literal(422),
    errors: v.pipe(v.array(IssueModel), v.description("All faults that were found.")),
  }),
  v.title("ValidationProblem"),
);

/** The names of the replies under `components/responses`, and what they hold unless an application says otherwise. */
const REPLIES = {
  Problem: { description: "The request was refused, or failed (RFC 9457).", model: ProblemModel },
  ValidationProblem: {
    description: "The input does not fit what is described here. All faults are told.",
    model: ValidationProblemModel,
  },
} as const;

type ReplyName = keyof typeof REPLIES;

/** The error replies of a document. */
export class ErrorReplies {
  readonly #shape: ErrorShape | undefined;
  readonly #used = new Set<ReplyName>();

  /**
   * Begins without any.
   *
   * @param shape What the application says of them.
   */
  constructor(shape: ErrorShape | undefined) {
    this.#shape = shape;
  }

  /** The content type of all of them. */
  get contentType(): string {
    return this.#shape ? this.#shape.contentType ?? "application/json" : "application/problem+json";
  }

  /**
   * Those of an operation, by status.
   *
   * Whatever stands around a handler may refuse a request, and anything may fail, so each operation has the whole ranges.
   *
   * @param canBeInvalid Whether its input can be refused with 422.
   */
  of(canBeInvalid: boolean): Record<string, OpenAPIReference> {
    const other = this.#refer("Problem");
    return { ...(canBeInvalid && { 422: this.#refer("ValidationProblem") }), "4XX": other, "5XX": other };
  }

  /**
   * What the operations refer to.
   *
   * Comes after them, since models of the application that have the same names were there first.
   */
  definitions(models: Models): Record<string, OpenAPIResponse> {
    const content = (name: ReplyName) => ({
      [this.contentType]: { schema: models.jsonOutput(this.#shape?.schema ?? REPLIES[name].model, "Error") },
    });
    const used = (Object.keys(REPLIES) as ReplyName[]).filter((name) => this.#used.has(name));
    return Object.fromEntries(
      used.map((name) => [name, { description: REPLIES[name].description, content: content(name) }]),
    );
  }

  #refer(name: ReplyName): OpenAPIReference {
    this.#used.add(name);
    return { $ref: `#/components/responses/${name}` };
  }
}
