/** Binds JSON bodies. */
import { HTTPError, type Issue } from "../base/errors.ts";
import { refuseDepth, tooLarge } from "../http/body_errors.ts";
import { decodeJson, isJson, parseJson } from "../http/json.ts";
import { contextOf, type HttpRequest } from "../http/request.ts";
import { toIssue } from "../schema/issues.ts";
import { checkDefaults, type Dataset, type Schema } from "../schema/schema.ts";
import { coerceJson, findOverflows } from "../schema/coerce_json.ts";
import { toValidator, type Validator } from "../schema/check.ts";

/** The JSON body of a route. */
export class JsonBody {
  readonly #validate: Validator["validate"];

  /**
   * Prepares a body.
   *
   * @throws {TypeError} If no JSON value can satisfy the schema.
   */
  constructor(schema: Schema, route: string) {
    const name = `the body of ${route}`;
    this.#validate = toValidator(coerceJson(schema, name)).validate;
    checkDefaults(schema, name);
  }

  /**
   * Reads the bytes of the body. There are none if there is no body, which then needs no content
   * type.
   *
   * @throws {HTTPError} With 408 if it arrives too slowly, 413 if it is too large, 415 if it has
   * another type.
   */
  read(request: HttpRequest): Promise<Uint8Array> | Uint8Array {
    const isTyped = isJson(request.raw.headers.get("content-type"));
    return isTyped ? contextOf(request).body.jsonBytes() : refuseUnlessEmpty(request);
  }

  /**
   * Parses and validates a body. Adds an issue for each fault. The result is a promise only if the
   * schema is async.
   *
   * @throws {HTTPError} With 400 if it is not JSON in UTF-8, 413 if it is too large, 415 if it is
   * compressed.
   */
  parse(body: Uint8Array, request: HttpRequest, issues: Issue[]): unknown {
    const { raw, matched: { limits } } = contextOf(request);
    if (body.length > limits.body) throw tooLarge(limits.body);
    let result: Dataset | Promise<Dataset>;
    try {
      const text = decodeJson(body, raw, limits);
      const value = text === "" ? undefined : parseJson(text, raw, limits);
      const overflows = findOverflows(text, value);
      if (overflows.length > 0) {
        for (const issue of overflows) issues.push(issue);
        return undefined;
      }
      result = this.#validate(value);
    } catch (error) {
      refuseDepth(error);
    }
    if (result instanceof Promise) return result.then((dataset) => settle(dataset, issues), refuseDepth);
    return settle(result, issues);
  }
}

function settle(dataset: Dataset, issues: Issue[]): unknown {
  if (!dataset.issues) return dataset.value;
  for (const issue of dataset.issues) issues.push(toIssue(issue, "body", []));
  return undefined;
}

const NO_BYTES = new Uint8Array();

function refuseUnlessEmpty(request: HttpRequest): Promise<Uint8Array> | Uint8Array {
  const isEmpty = contextOf(request).body.isEmpty();
  if (isEmpty instanceof Promise) return isEmpty.then(refuseUnless);
  return refuseUnless(isEmpty);
}

function refuseUnless(isEmpty: boolean): Uint8Array {
  if (isEmpty) return NO_BYTES;
  throw new HTTPError(415, "The body must be JSON in UTF-8: send it with content-type application/json", {
    headers: { accept: "application/json" },
  });
}
