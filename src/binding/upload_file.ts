/** Uploaded files as schemas. */
import * as v from "valibot";
import { UploadedFile } from "../http/forms/uploaded_file.ts";
import type { Schema } from "../schema/schema.ts";

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
