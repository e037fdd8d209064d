/** `HTTPError` and `ValidationError` become replies; `RouteError` is a mistake in a declaration. */
import { STATUS_TEXT } from "@std/http/status";
import { checkOptions, type OptionNames, quote } from "./options.ts";
import { readVariable } from "./runtime.ts";

/** Options of an {@linkcode HTTPError}. The client sees all of them except `cause`. */
export interface HTTPErrorOptions extends ErrorOptions {
  /** Headers of the reply, such as `www-authenticate` for a 401. */
  headers?: HeadersInit;
  /**
   * A URI for the type of problem.
   *
   * @default {"about:blank"}
   */
  type?: string;
  /** The type of problem in a few words. By default the phrase of the status. */
  title?: string;
  /** Further members of the body. They do not replace the standard ones. */
  extensions?: Readonly<Record<string, unknown>>;
}

/**
 * The body of an error reply, `application/problem+json` (RFC 9457).
 *
 * @category Errors
 */
export interface ProblemDetails {
  /** A URI for the type of problem. `about:blank` means no more than the status. */
  type: string;
  /** The type of problem in a few words. */
  title: string;
  /** The status of the reply. */
  status: number;
  /** What went wrong this time. By default the title. */
  detail: string;
  /** A URI for this occurrence, if the application set one. */
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
 * An error that becomes a reply, as `application/problem+json` (RFC 9457). Throw it in a handler, a
 * dependency or a middleware. Outer middleware gets the reply, not the exception.
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
 *
 * @category Errors
 */
export class HTTPError extends Error {
  /** The name of the class, for logs. */
  override readonly name: string = "HTTPError";
  /** The status of the reply, 400 to 599. */
  readonly status: number;
  /** What went wrong, for the client to read. */
  readonly detail: string;
  /** The type of problem in a few words. */
  readonly title: string;
  /** A URI for the type of problem. */
  readonly type: string;
  /** Headers of the reply. */
  readonly headers: HeadersInit | undefined;
  /** Further members of the reply's body. */
  readonly extensions: Readonly<Record<string, unknown>>;
  /** @ignore Identifies the class across copies of the package. */
  readonly [HTTP_ERROR] = true;

  /**
   * Makes an error that becomes a reply.
   *
   * @param status 400 to 599.
   * @param detail For the client to read. By default the title.
   * @throws {TypeError} If an option is unknown.
   * @throws {RangeError} If the status is out of range.
   */
  constructor(status: number, detail?: string, options: HTTPErrorOptions = {}) {
    checkOptions(options, HTTP_ERROR_OPTIONS, "make an HTTPError");
    if (!Number.isInteger(status) || status < 400 || status > 599) {
      throw new RangeError(
        `Cannot make an HTTPError: the status must be from 400 to 599, got ${
          quote(status)
        }; write new HTTPError(404, "No such book")`,
      );
    }
    const title = options.title ??
      STATUS_TEXT[status as keyof typeof STATUS_TEXT] ?? `Status ${status}`;
    super(detail ?? title, "cause" in options ? { cause: options.cause } : undefined);
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

/** Of this or another copy of the package. */
export function isHTTPError(thrown: unknown): thrown is HTTPError {
  try {
    return thrown instanceof HTTPError || (thrown instanceof Error && HTTP_ERROR in thrown);
  } catch {
    // A proxy may throw for any operation.
    return false;
  }
}

/** @ignore The part of a request that holds an input. */
export type InputSource = "path" | "query" | "header" | "cookie" | "body" | "form";

/**
 * @ignore `missing`: a required value was not sent. `invalid`: it does not match, or is not
 * allowed.
 */
export type IssueCode = "missing" | "invalid";

/**
 * One issue in a client's input. It never holds the value that was sent.
 *
 * @category Errors
 */
export interface Issue {
  /** The part of the request. */
  in: InputSource;
  /** The path to the value: the name of a parameter, or the keys from the root of the body. */
  path: (string | number)[];
  /** Whether the value is missing or wrong. */
  code: IssueCode;
  /** What is wrong, in the words of the schema. */
  message: string;
  /** What the schema expects, such as `string` for a missing value. */
  expected?: string;
}

/**
 * The input of a request does not match its route: a 422 with all issues. Throw it yourself for
 * issues that a schema cannot find.
 *
 * @example An issue that only the handler can find
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
 *
 * @category Errors
 */
export class ValidationError extends HTTPError {
  /** The name of the class, for logs. */
  override readonly name: string = "ValidationError";
  /** All issues that were found. */
  readonly issues: readonly Issue[];

  /** Makes a 422. An issue without a code is `invalid`. */
  constructor(found: readonly (Omit<Issue, "code"> & Partial<Pick<Issue, "code">>)[]) {
    const issues = found.map(({ in: source, path, code = "invalid", ...words }): Issue => {
      return { in: source, path, code, ...words };
    });
    super(422, "The request does not fit its description", { title: "Invalid input", extensions: { errors: issues } });
    this.issues = issues;
  }
}

/** The configuration prevents the start. The command line prints only the message. */
export class CannotStartError extends Error {
  /** The name of the class, for the command line. */
  override readonly name = "CannotStartError";

  /** Makes an error without a stack: the cause is the configuration. */
  constructor(message: string) {
    super(message);
    this.stack = `${this.name}: ${message}`;
  }
}

/**
 * `conflict`: another route has the method and shape. `frozen`: the application has started.
 * `idempotent`: the route cannot be idempotent. `path`: the path, prefix or name is malformed.
 * `tool`: the route cannot be exposed to agents.
 */
export type RouteErrorCode = "conflict" | "frozen" | "idempotent" | "path" | "tool";

/**
 * A mistake in the declaration of routes, thrown by the call that declares them.
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
 *
 * @category Errors
 */
export class RouteError extends Error {
  /** The name of the class, for logs. */
  override readonly name = "RouteError";
  /** What is wrong. */
  readonly code: RouteErrorCode;

  /** Makes an error whose message has the failed action, the route and the cure. */
  constructor(code: RouteErrorCode, message: string) {
    super(message);
    this.code = code;
  }
}

const MESSAGE = /^Cannot .+?: /;

/**
 * Stacks of its errors begin with the caller: V8 keeps ten frames, and those of the framework would
 * fill them. `WEBFW_LOG=full` keeps these, too.
 */
export function atCaller<Args extends unknown[], Result>(
  declare: (...args: Args) => Result,
): (...args: Args) => Result {
  return function declared(...args) {
    try {
      return declare(...args);
    } catch (error) {
      if (error instanceof Error && MESSAGE.test(error.message)) {
        const { stack = "" } = error;
        Error.captureStackTrace(error, declared);
        if (readVariable("WEBFW_LOG") === "full") error.stack = withFrames(stack, error.stack ?? "");
      }
      throw error;
    }
  };
}

/** Adds the frames of the caller to a stack that ends before them. */
function withFrames(stack: string, callerStack: string): string {
  const frames = callerStack.slice(callerStack.indexOf("\n    at "));
  const [, nearest = ""] = frames.split("\n");
  return stack.includes(nearest) ? stack : stack + frames;
}
