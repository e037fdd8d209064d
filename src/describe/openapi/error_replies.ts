/** The replies of errors, which all operations share. */
import { checkOptions, type OptionNames } from "../../options.ts";
import { isSchema, type Schema, schemaFault } from "../../schema/schema.ts";
import { checkJson, type Models } from "../json_schema/models.ts";
import type { OpenAPIMediaType, OpenAPIReference, OpenAPIResponse } from "./document.ts";
import { Problem, ValidationProblem } from "./problem.ts";

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
