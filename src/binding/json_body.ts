/** Binds a JSON body. */
import { HTTPError, type Issue } from "../errors.ts";
import { refuseDepth } from "../http/body_errors.ts";
import { isJson, parseJson } from "../http/json.ts";
import { contextOf, type HttpRequest } from "../http/request.ts";
import type { Dataset, Schema } from "../schema/schema.ts";
import { toIssue } from "../schema/issues.ts";
import { coerceJson, findOverflows } from "../schema/coerce_json.ts";
import { toValidator, type Validator } from "../schema/check.ts";

/** A prepared body. */
export class JsonBody {
  readonly #validate: Validator["validate"];

  /**
   * Prepares a body.
   *
   * @param schema What was declared.
   * @param owner The route, for messages.
   * @throws {TypeError} When no JSON value can satisfy the schema.
   */
  constructor(schema: Schema, owner: string) {
    this.#validate = toValidator(coerceJson(schema, `the body of ${owner}`)).validate;
  }

  /**
   * The body's text; empty where there is none.
   *
   * @throws {HTTPError} With 408 when it comes too slowly, 413 when it is too large, 415 when it is of another type.
   */
  read(request: HttpRequest): Promise<string> | "" {
    const isTyped = isJson(request.raw.headers.get("content-type"));
    return isTyped ? contextOf(request).body.jsonText() : refuseUnlessEmpty(request);
  }

  /**
   * Parses and validates a text. Faults are added to the list. A promise only where the schema is async.
   *
   * @throws {HTTPError} With 400 when it is not JSON, 415 when it is compressed.
   */
  parse(text: string, { raw }: HttpRequest, issues: Issue[]): unknown {
    let result: Dataset | Promise<Dataset>;
    try {
      const value = text === "" ? undefined : parseJson(text, raw.headers);
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

/** Nothing needs no content type. */
function refuseUnlessEmpty(request: HttpRequest): "" {
  if (contextOf(request).body.isEmpty) return "";
  throw new HTTPError(415, "The body must be JSON in UTF-8: send it with content-type application/json", {
    headers: { accept: "application/json" },
  });
}
