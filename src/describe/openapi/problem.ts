/** The schemas of error replies. */
import * as v from "valibot";
import type { InputSource, Issue, IssueCode, ProblemDetails } from "../../errors.ts";
import type { Schema } from "../../schema/schema.ts";

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
