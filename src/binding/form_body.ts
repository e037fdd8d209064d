/** Binds a form. */
import type { Issue } from "../errors.ts";
import { refuseDepth, tooLarge } from "../http/body_errors.ts";
import { isJson, mediaTypeOf } from "../http/json.ts";
import { contextOf, type HttpRequest } from "../http/request.ts";
import {
  type FormEntry,
  FormNode,
  type FormSchema,
  holdsJson,
  isRepeated,
  keepText,
  toFormForm,
} from "../schema/form_form.ts";
import { type Dataset, nodeOf, type Schema, type SchemaIssue, toIssue } from "../schema/schema.ts";
import { toValidator, type Validator } from "../schema/check.ts";

/** A prepared form. */
export class FormBody {
  readonly #validate: Validator["validate"];
  readonly #schema: Schema;
  #holdsJson: boolean | undefined;

  /**
   * Prepares a form.
   *
   * @param form What was declared.
   * @param owner The route, for messages.
   * @throws {TypeError} When no form can satisfy the schema.
   */
  constructor({ schema }: FormSchema, owner: string) {
    this.#schema = schema;
    this.#validate = toValidator(toFormForm(schema, `the form of ${owner}`)).validate;
  }

  /**
   * Reads and validates the form of a request. Faults are added to the list.
   *
   * @throws {HTTPError} With 400 when it is not well formed, 408 when it comes too slowly, 413 when it is over a limit, 415 when
   * the body is of another type.
   */
  async bind(request: HttpRequest, issues: Issue[]): Promise<unknown> {
    const { body } = contextOf(request);
    // Nothing needs no content type; without fields, an urlencoded form is one all the same.
    const isMissing = body.isEmpty && mediaTypeOf(request.raw.headers) !== "application/x-www-form-urlencoded";
    const dataset = await this.#run(isMissing ? undefined : await this.#read(request)).catch(refuseDepth);
    if (!dataset.issues) return dataset.value;
    for (const issue of dataset.issues) issues.push(toFormIssue(issue));
    return undefined;
  }

  async #read(request: HttpRequest): Promise<FormNode> {
    const { body, matched } = contextOf(request);
    const entries = await body.form();
    const hasFiles = entries.some(([, value]) => typeof value !== "string");
    if (hasFiles && (this.#holdsJson ??= holdsJson(nodeOf(this.#schema)))) await readJson(entries, matched.limits.body);
    return FormNode.of(entries);
  }

  async #run(input: FormNode | undefined): Promise<Dataset> {
    return await this.#validate(input);
  }
}

/**
 * Reads the files of a form that hold JSON, which may stand for objects, as the texts that clients
 * send as files. Together they may be as large as all other texts of a form.
 */
async function readJson(entries: readonly FormEntry[], limit: number): Promise<void> {
  let size = 0;
  for (const [, value] of entries) {
    if (typeof value === "string" || !isJson(value.type)) continue;
    size += value.size;
    keepText(value, size > limit ? tooLarge(limit, "The JSON of the form is") : await value.text());
  }
}

function toFormIssue(issue: SchemaIssue): Issue {
  const found = toIssue(issue, "form", []);
  return isRepeated(issue.input) ? { ...found, message: "Sent more than once", expected: "a single value" } : found;
}
