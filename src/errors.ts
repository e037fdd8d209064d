/**
 * The errors of webfw: those that become replies (`HTTPError`, `ValidationError`) and the one that tells a programmer of a
 * mistake in a declaration (`RouteError`).
 */
import { STATUS_TEXT } from "@std/http/status";
import { checkOptions, type OptionNames, quote } from "./options.ts";

/** What an {@linkcode HTTPError} can carry besides its status and detail. All of it reaches the client, but `cause`. */
export interface HTTPErrorOptions extends ErrorOptions {
  /** Headers of the reply, such as `www-authenticate` of a 401. */
  headers?: HeadersInit;
  /**
   * A URI that names the kind of problem.
   *
   * @default {"about:blank"}
   */
  type?: string;
  /** The kind of problem in a few words. The phrase of the status unless given. */
  title?: string;
  /** Further members of the reply's body. They cannot replace the standard ones. */
  extensions?: Readonly<Record<string, unknown>>;
}

/** The body of an error reply, as RFC 9457 defines it for `application/problem+json`. */
export interface ProblemDetails {
  /** A URI that names the kind of problem; `about:blank` says no more than the status. */
  type: string;
  /** The kind of problem in a few words. */
  title: string;
  /** The status of the reply. */
  status: number;
  /** What went wrong this time. The title where nothing more is to be said. */
  detail: string;
  /** A URI of this very occurrence, where the application gave one. */
  instance?: string;
  /** Members that the application added. */
  [extension: string]: unknown;
}

const HTTP_ERROR_OPTIONS: OptionNames<HTTPErrorOptions> = {
  headers: true,
  type: true,
  title: true,
  extensions: true,
  cause: true,
};

const HTTP_ERROR = Symbol.for("webfw.HTTPError");

/**
 * An error that is answered with its status. Raise it in a handler, a dependency or a middleware; outer middleware sees the
 * reply, never the exception.
 *
 * The reply is `application/problem+json` (RFC 9457).
 *
 * @example A book that is not there
 * ```ts
 * import { HTTPError } from "@webfw/core";
 * import { assertEquals } from "@std/assert";
 *
 * const error = new HTTPError(404, "No such book");
 * assertEquals(error.toProblem(), {
 *   type: "about:blank",
 *   title: "Not Found",
 *   status: 404,
 *   detail: "No such book",
 * });
 * ```
 */
export class HTTPError extends Error {
  /** The name of the class, for logs. */
  override readonly name: string = "HTTPError";
  /** The status of the reply, 400 to 599. */
  readonly status: number;
  /** What went wrong, for the client to read. */
  readonly detail: string;
  /** The kind of problem in a few words. */
  readonly title: string;
  /** A URI that names the kind of problem. */
  readonly type: string;
  /** Headers of the reply. */
  readonly headers: HeadersInit | undefined;
  /** Further members of the reply's body. */
  readonly extensions: Readonly<Record<string, unknown>>;
  /** Marks the class across copies of the package. */
  readonly [HTTP_ERROR] = true;

  /**
   * Makes an error with a status.
   *
   * @param status The status of the reply, 400 to 599.
   * @param detail What went wrong, for the client to read. The title unless given.
   * @param options What else the reply carries.
   * @throws {TypeError} When an option is unknown.
   * @throws {RangeError} When the status is not that of an error.
   */
  constructor(status: number, detail?: string, options: HTTPErrorOptions = {}) {
    checkOptions(options, HTTP_ERROR_OPTIONS, "make an HTTPError");
    if (!Number.isInteger(status) || status < 400 || status > 599) {
      throw new RangeError(
        `Cannot make an HTTPError: the status must be from 400 to 599, got ${quote(status)}`,
      );
    }
    const title = options.title ??
      STATUS_TEXT[status as keyof typeof STATUS_TEXT] ?? `Status ${status}`;
    super(
      detail ?? title,
      "cause" in options ? { cause: options.cause } : undefined,
    );
    this.status = status;
    this.detail = detail ?? title;
    this.title = title;
    this.type = options.type ?? "about:blank";
    this.headers = options.headers;
    this.extensions = options.extensions ?? {};
  }

  /** The body of the reply. */
  toProblem(): ProblemDetails {
    const { type, title, status, detail } = this;
    const problem: ProblemDetails = { type, title, status, detail };
    for (const [name, value] of Object.entries(this.extensions)) {
      if (!Object.hasOwn(problem, name)) problem[name] = value;
    }
    return problem;
  }
}

/** Tells whether a thrown value is an {@linkcode HTTPError}, of this copy of the package or another. */
export function isHTTPError(thrown: unknown): thrown is HTTPError {
  try {
    return thrown instanceof HTTPError || (thrown instanceof Error && HTTP_ERROR in thrown);
  } catch {
    // A proxy may throw at any look at it.
    return false;
  }
}

/** Where a client's input was read from. */
export type InputSource =
  | "path"
  | "query"
  | "header"
  | "cookie"
  | "body"
  | "form";

/**
 * The kind of a fault: `missing`, a required value was not sent; `invalid`, a value was sent and
 * does not fit, or is not allowed there.
 */
export type IssueCode = "missing" | "invalid";

/** One fault in a client's input. It never holds the value that was sent. */
export interface Issue {
  /** Where the value was read from. */
  in: InputSource;
  /** The way to the value: the parameter's name, or the keys from the root of the body. */
  path: (string | number)[];
  /** Whether the value is missing or wrong. */
  code: IssueCode;
  /** What is wrong, as the schema says it. */
  message: string;
  /**
   * What was expected, where the schema says it: for a missing value its kind, such as `string`.
   */
  expected?: string;
}

/**
 * The input of a request does not fit what its route declares; answered with 422 and the list of all faults.
 *
 * Raise it yourself for what a schema cannot tell.
 *
 * @example A fault that only the handler can see
 * ```ts
 * import { ValidationError } from "@webfw/core";
 * import { assertEquals } from "@std/assert";
 *
 * const error = new ValidationError([
 *   { in: "body", path: ["isbn"], message: "Already in the catalogue" },
 * ]);
 * assertEquals(error.status, 422);
 * assertEquals(error.toProblem().errors, error.issues);
 * ```
 */
export class ValidationError extends HTTPError {
  /** The name of the class, for logs. */
  override readonly name: string = "ValidationError";
  /** All faults that were found. */
  readonly issues: readonly Issue[];

  /**
   * Makes a 422 from a list of faults.
   *
   * @param found All faults that were found. A fault without a code is `invalid`.
   */
  constructor(found: readonly (Omit<Issue, "code"> & Partial<Pick<Issue, "code">>)[]) {
    const issues = found.map(({ in: source, path, code = "invalid", ...words }): Issue => {
      return { in: source, path, code, ...words };
    });
    super(422, "The request does not fit its description", {
      title: "Invalid input",
      extensions: { errors: issues },
    });
    this.issues = issues;
  }
}

/**
 * What is wrong with a declaration: `conflict`, the place is taken; `frozen`, it is too late to add; `path`, the path, prefix or
 * name cannot be read; `tool`, the route cannot be told to an agent.
 */
export type RouteErrorCode = "conflict" | "frozen" | "path" | "tool";

/**
 * A mistake in the declaration of routes, thrown where it is made.
 *
 * @example Two routes of the same shape
 * ```ts
 * import { App, RouteError } from "@webfw/core";
 * import { assertThrows } from "@std/assert";
 *
 * const app = new App();
 * app.get("/books/{id}", async () => ({}));
 * assertThrows(() => app.get("/books/{isbn}", async () => ({})), RouteError);
 * ```
 */
export class RouteError extends Error {
  /** The name of the class, for logs. */
  override readonly name = "RouteError";
  /** What is wrong. */
  readonly code: RouteErrorCode;

  /**
   * Makes an error of a declaration.
   *
   * @param code What is wrong.
   * @param message The action that failed, the route, and the cure.
   */
  constructor(code: RouteErrorCode, message: string) {
    super(message);
    this.code = code;
  }
}
