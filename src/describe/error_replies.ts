/** The replies of errors, which all operations share. */
import { isSchema, type Schema } from "../schema/schema.ts";
import type { Models } from "./models.ts";
import type { OpenAPIReference, OpenAPIResponse } from "./openapi_document.ts";
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

/** The names of the replies under `components/responses`, and what they hold unless an application says otherwise. */
const REPLIES = {
  Problem: { description: "The request was refused, or failed (RFC 9457).", model: Problem },
  ValidationProblem: {
    description: "The input does not fit what is described here. All faults are told.",
    model: ValidationProblem,
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
