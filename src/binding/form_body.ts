import * as v from "valibot";
import type { Issue } from "../errors.ts";
import { refuseDepth, tooLarge } from "../http/body_errors.ts";
import { isJson, mediaTypeOf } from "../http/json.ts";
import { contextOf, type HttpRequest } from "../http/request.ts";
import { coerceForm, holdsJson, isRepeated } from "../schema/coerce_form.ts";
import { type FormEntry, type FormSchema, FormTree, keepFileText } from "../schema/form.ts";
import { type Dataset, nodeOf, type Schema, type SchemaIssue } from "../schema/schema.ts";
import { toIssue } from "../schema/issues.ts";
import { toValidator, type Validator } from "../schema/check.ts";
import { UploadedFile } from "../http/forms/uploaded_file.ts";

/** Uploaded files as schemas. */

/** A file that a client has sent, as the field of a form. */
export type UploadFile = UploadedFile;

/**
 * The type of {@linkcode UploadFile}: a schema that the functions of valibot take.
 *
 * It tells no more than they ask for. A type of valibot's own would make all that it refers to a part of what webfw exports.
 */
export interface UploadFileSchema extends Schema<unknown, UploadFile> {
  /** Its kind. */
  readonly type: "file";
  /** It is not async. */
  readonly async: false;
  /** What messages say was expected. */
  readonly expects: string;
  /** Carries the types; never there at run time. */
  readonly "~types"?:
    | { readonly input: UploadFile; readonly output: UploadFile; readonly issue: never }
    | undefined;
  /** The function of valibot that made it. */
  readonly reference: () => never;
  /** How other libraries run it. */
  readonly "~standard": { readonly version: 1; readonly vendor: "valibot"; readonly validate: () => never };
  /** How valibot runs it. */
  readonly "~run": () => never;
}

const uploadFile: v.GenericSchema<File> = v.pipe(
  v.file(),
  v.check((file) => file instanceof UploadedFile, "Not an uploaded file"),
);

/**
 * A file that a client sends in a form. The schema can be optional, in a list, and followed by the checks that valibot has for
 * files; the type of its value has the same name.
 *
 * @example A picture of at most a megabyte
 * ```ts
 * import { App, Form, UploadFile } from "@webfw/core";
 * import { assertEquals } from "@std/assert";
 * import * as v from "valibot";
 *
 * const Picture = v.pipe(UploadFile, v.mimeType(["image/png", "image/jpeg"]), v.maxSize(1024 * 1024));
 * const describe = ({ name, type, size }: UploadFile) => `${name}, ${type}, ${size} bytes`;
 *
 * const app = new App();
 * app.post("/pictures", { form: Form(v.object({ picture: Picture })) }, async (_request, { form }) => {
 *   // await form.picture.save(`pictures/${crypto.randomUUID()}`);
 *   return describe(form.picture);
 * });
 * const body = new FormData();
 * body.append("picture", new File(["…"], "cat.png", { type: "image/png" }));
 * const response = await app.fetch(new Request("http://localhost/pictures", { method: "POST", body }));
 * assertEquals(await response.json(), "cat.png, image/png, 3 bytes");
 * ```
 */
export const UploadFile: UploadFileSchema = uploadFile as unknown as UploadFileSchema;

/** Binds a form. */

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
    this.#validate = toValidator(coerceForm(schema, `the form of ${owner}`)).validate;
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

  async #read(request: HttpRequest): Promise<FormTree> {
    const { body, matched } = contextOf(request);
    const entries = await body.form();
    const hasFiles = entries.some(([, value]) => typeof value !== "string");
    if (hasFiles && (this.#holdsJson ??= holdsJson(nodeOf(this.#schema)))) await readJson(entries, matched.limits.body);
    return FormTree.of(entries);
  }

  async #run(input: FormTree | undefined): Promise<Dataset> {
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
    keepFileText(value, size > limit ? tooLarge(limit, "The JSON of the form is") : await value.text());
  }
}

function toFormIssue(issue: SchemaIssue): Issue {
  const found = toIssue(issue, "form", []);
  return isRepeated(issue.input) ? { ...found, message: "Sent more than once", expected: "a single value" } : found;
}
