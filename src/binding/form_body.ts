/** Binds a form. */
import type { Issue } from "../errors.ts";
import { mediaTypeOf } from "../http/media_type.ts";
import { exchangeOf, type HttpRequest } from "../http/request.ts";
import { isRepeated, toFormForm } from "../schema/form_form.ts";
import { FormNode } from "../schema/form_node.ts";
import type { FormSchema } from "../schema/form_schema.ts";
import { toIssue } from "../schema/issues.ts";
import type { SchemaIssue } from "../schema/schema.ts";
import { toValidator, type Validator } from "../schema/validator.ts";

/** A prepared form. */
export class FormBody {
  readonly #validate: Validator["validate"];

  /**
   * Prepares a form.
   *
   * @param form What was declared.
   * @param owner The route, for messages.
   * @throws {TypeError} When no form can satisfy the schema.
   */
  constructor({ schema }: FormSchema, owner: string) {
    this.#validate = toValidator(toFormForm(schema, `the form of ${owner}`)).validate;
  }

  /**
   * Reads and validates the form of a request. Faults are added to the list.
   *
   * @throws {HTTPError} With 400 when it is not well formed, 408 when it comes too slowly, 413 when it is over a limit, 415 when
   * the body is of another type.
   */
  async bind(request: HttpRequest, issues: Issue[]): Promise<unknown> {
    const { body } = exchangeOf(request);
    // Nothing needs no content type; without fields, an urlencoded form is one all the same.
    const isMissing = body.isEmpty && mediaTypeOf(request.raw.headers) !== "application/x-www-form-urlencoded";
    const dataset = await this.#validate(isMissing ? undefined : FormNode.of(await body.form()));
    if (!dataset.issues) return dataset.value;
    for (const issue of dataset.issues) issues.push(toFormIssue(issue));
    return undefined;
  }
}

function toFormIssue(issue: SchemaIssue): Issue {
  const found = toIssue(issue, "form", []);
  return isRepeated(issue.input) ? { ...found, message: "Sent more than once", expected: "a single value" } : found;
}
