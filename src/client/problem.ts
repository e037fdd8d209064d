/** The error of a reply that is no success. */

/** In characters. */
const MAX_PROBLEM_LENGTH = 65_536;

/**
 * The body of an error reply: RFC 9457.
 *
 * @category Client
 */
export interface CallProblem {
  /** The type of problem, a URI. `about:blank` means no more than the status. */
  readonly type: string;
  /** A summary of the type of problem. */
  readonly title: string;
  /** The status of the reply. */
  readonly status: number;
  /** An explanation of this occurrence. */
  readonly detail: string;
  /** Members of the application. */
  readonly [extension: string]: unknown;
}

/**
 * One invalid or missing input of a call.
 *
 * @category Client
 */
export interface CallIssue {
  /** The part of the request: `path`, `query`, `header`, `cookie`, `body` or `form`. */
  readonly in: string;
  /** The name of the argument, or the keys from the root of the body. */
  readonly path: readonly (string | number)[];
  /** Whether the value is `missing` or `invalid`. */
  readonly code: string;
  /** The message of the server. */
  readonly message: string;
  /** The expected type, such as `string`. */
  readonly expected?: string;
}

/**
 * The reply to a call is no success.
 *
 * @example A book that does not exist
 * ```ts
 * import { App, HTTPError } from "@webfw/core";
 * import { client, ProblemError } from "@webfw/core/client";
 * import { assert, assertEquals, assertRejects } from "@std/assert";
 *
 * const app = new App();
 * const getBook = app.get("/books/{id}", async () => {
 *   throw new HTTPError(404, "No such book", { headers: { "retry-after": "60" } });
 * });
 *
 * const shop = client<{ getBook: typeof getBook }>("http://localhost", { fetch: app.fetch });
 * const error = await assertRejects(() => shop.get("/books/{id}", { id: "1" }), ProblemError);
 * assertEquals(error.status, 404);
 * assertEquals(error.problem.detail, "No such book");
 * assertEquals(error.headers.get("retry-after"), "60");
 * ```
 *
 * @category Client
 */
export class ProblemError extends Error {
  /** The name of the class, for logs. */
  override readonly name = "ProblemError";
  /** The status of the reply. */
  declare readonly status: number;
  /** The body, made from the status if it is no JSON object of at most 64 Ki characters. */
  declare readonly problem: CallProblem;
  /** The invalid inputs; empty if the server sent none. */
  declare readonly issues: readonly CallIssue[];
  /** The headers of the reply, such as `retry-after`. */
  declare readonly headers: Headers;

  /** Makes the error of a reply, with its body if that is a JSON object. */
  constructor(call: string, { status, statusText, headers }: Response, content?: Readonly<Record<string, unknown>>) {
    const title = statusText || `Status ${status}`;
    const problem = { type: "about:blank", title, detail: title, ...content, status };
    // Other servers may send other `errors`.
    const issues = [content?.errors].flat().filter((each) => Array.isArray((each as CallIssue | null)?.path));
    const [first] = issues as CallIssue[];
    const where = first ? `, ${[first.in, ...first.path].join(".")}: "${first.message}"` : "";
    super(`Cannot call ${call}: ${status} "${problem.detail}"${where}`);
    Object.assign(this, { status, problem, issues, headers });
  }
}

/** Omits content that cannot be part of a message. */
export async function problemOf(call: string, response: Response): Promise<ProblemError> {
  const content = readObject(response);
  return await content.then((object) => new ProblemError(call, response, object))
    .catch(() => new ProblemError(call, response));
}

/** Undefined if it is no JSON object. */
async function readObject({ body, headers }: Response): Promise<Record<string, unknown> | undefined> {
  if (!body) return undefined;
  const reader = body.getReader();
  try {
    if (!isJson(headers.get("content-type") ?? "")) return undefined;
    const decoder = new TextDecoder();
    let text = "";
    for (let chunk = await reader.read(); !chunk.done; chunk = await reader.read()) {
      text += decoder.decode(chunk.value, { stream: true });
      if (text.length > MAX_PROBLEM_LENGTH) return undefined;
    }
    const content: unknown = JSON.parse(text);
    return typeof content === "object" && !Array.isArray(content) ? { ...content } : undefined;
  } finally {
    reader.cancel().catch(() => {});
  }
}

/** Whether a content type means JSON. */
export function isJson(type: string): boolean {
  return /^application\/([\w.-]+\+)?json\b/i.test(type);
}
