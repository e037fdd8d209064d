/** Reads the fields of a form, within the limits. */
import { HTTPError } from "../errors.ts";
import type { FormEntry } from "../schema/form_node.ts";
import { tooLarge, tooManyFields } from "./body_refusal.ts";
import type { ResolvedLimits } from "./limits.ts";
import { type PartReceiver, readMultipart } from "./multipart.ts";
import type { PartHead } from "./part_headers.ts";
import { decodePart } from "./query.ts";
import { UploadedFile } from "./uploaded_file.ts";
import type { UploadStorage } from "./upload_storage.ts";

/**
 * Reads an urlencoded form.
 *
 * @param text The body.
 * @param maxFields The number of fields that it may have.
 * @throws {HTTPError} With 400, when an escape is broken; with 413, when there are too many fields.
 */
export function parseUrlencoded(text: string, maxFields: number): FormEntry[] {
  const entries: FormEntry[] = [];
  for (let start = 0; start < text.length;) {
    const next = text.indexOf("&", start);
    const end = next < 0 ? text.length : next;
    if (end > start) entries.push(parsePair(text.slice(start, end)));
    if (entries.length > maxFields) throw tooManyFields(maxFields);
    start = end + 1;
  }
  return entries;
}

function parsePair(pair: string): FormEntry {
  const equals = pair.indexOf("=");
  const end = equals < 0 ? pair.length : equals;
  const [name, value] = [decodePart(pair.slice(0, end)), decodePart(pair.slice(end + 1))];
  if (name === undefined || value === undefined) throw new HTTPError(400, "The form has a broken percent-encoding");
  return [name, value];
}

/**
 * Reads a multipart form. Its files are ready when it returns, its texts are as UTF-8 has them.
 *
 * @param body What comes in.
 * @param boundary What stands between the parts.
 * @param limits What it may hold.
 * @param storage Keeps its files.
 * @throws {HTTPError} With 400, when it is not well formed; with 413, when it, a file, its texts, or the number of its parts is
 * over a limit.
 */
export async function readMultipartForm(
  body: ReadableStream<Uint8Array>,
  boundary: string,
  limits: ResolvedLimits,
  storage: UploadStorage,
): Promise<FormEntry[]> {
  const entries: FormEntry[] = [];
  let parts = 0;
  let texts = 0;

  const receiveText = (name: string): PartReceiver => {
    const place = entries.push([name, ""]) - 1;
    const decoder = new TextDecoder();
    let text = "";
    return {
      write(chunk) {
        texts += chunk.length;
        if (texts > limits.body) throw tooLarge(limits.body, "The texts of the form are");
        text += decoder.decode(chunk, { stream: true });
      },
      finish() {
        entries[place] = [name, text + decoder.decode()];
      },
    };
  };

  const receiveFile = (field: string, { name, type }: NonNullable<PartHead["file"]>): PartReceiver => {
    const place = entries.push([field, ""]) - 1;
    const upload = storage.receive();
    let size = 0;
    return {
      write(chunk) {
        size += chunk.length;
        if (size > limits.file) throw tooLarge(limits.file, "A file is");
        return upload.write(chunk);
      },
      async finish() {
        entries[place] = [field, new UploadedFile(await upload.finish(), name, type)];
      },
    };
  };

  await readMultipart(body, {
    boundary,
    maxSize: limits.multipart,
    open({ name, file }) {
      if (++parts > limits.parts) throw tooManyFields(limits.parts);
      return file ? receiveFile(name, file) : receiveText(name);
    },
  });
  return entries;
}
