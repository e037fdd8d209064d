// The fields of a form: how the document has a value written, as an urlencoded or a multipart body.

import type { OpenAPIEncoding } from "../../../src/http/operation.ts";
import type { RequestBody } from "./operations.ts";
import type { Schema, Schemas } from "./schemas.ts";

/** A field: its name, and its text or, where it has a media type, the content of its file. */
export interface Field {
  readonly name: string;
  readonly text: string;
  readonly file?: string | undefined;
}

const URLENCODED = "application/x-www-form-urlencoded";
const MULTIPART = "multipart/form-data";
const BOUNDARY = "----a-boundary";

/** Whether a body is a form. */
export function isForm({ type }: RequestBody): boolean {
  return type === URLENCODED || type === MULTIPART;
}

/**
 * Whether a form can say a value: of lists and objects that are empty it has no word, and brackets
 * are no part of a name.
 */
export function isWritable(value: unknown, depth = 0): boolean {
  if (typeof value !== "object" || value === null) return true;
  const isNamed = Array.isArray(value) || Object.keys(value).every((key) => key !== "" && !/[[\]]/.test(key));
  return isNamed && (depth === 0 || Object.keys(value).length > 0) &&
    Object.values(value).every((part) => isWritable(part, depth + 1));
}

/** The fields of a value. */
export function fieldsOf(value: unknown, body: RequestBody, schemas: Schemas): Field[] {
  const fields: Field[] = [];
  const add = (name: string, part: unknown, file: string | undefined): void => {
    if (typeof part !== "object" || part === null) fields.push({ name, text: String(part), file });
    else if (!Array.isArray(part)) {
      for (const [key, inner] of Object.entries(part)) add(`${name}[${key}]`, inner, file);
    } else if (part.some((item) => typeof item === "object" && item !== null)) {
      part.forEach((item, index) => add(`${name}[${index}]`, item, file));
    } else for (const item of part) add(name, item, file);
  };
  const properties = propertiesOf(body, schemas);
  for (const [name, part] of Object.entries(value ?? {})) {
    const texts = body.encoding[name]?.contentType === "application/json" ? [part] : part;
    // Brackets are taken, too, so that both ways are tried.
    const isJson = Array.isArray(texts) && texts.length > 0 && texts.every(isObject) &&
      JSON.stringify(part).length % 2 === 0;
    if (isJson) fields.push(...texts.map((text) => ({ name, text: JSON.stringify(text) })));
    else add(name, part, fileType(properties[name], body.encoding[name]));
  }
  return fields;
}

function isObject(value: unknown): boolean {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** The document's schemas of the fields. */
export function propertiesOf({ schema }: RequestBody, schemas: Schemas): Readonly<Record<string, Schema>> {
  const settled = schemas.settle(schema);
  return typeof settled === "boolean" ? {} : settled.properties ?? {};
}

/** The media type of a field with files. */
export function fileType(schema: Schema | undefined, encoding?: OpenAPIEncoding): string | undefined {
  if (typeof schema !== "object") return undefined;
  const type = schema.contentMediaType ?? fileType(schema.items);
  return type && (encoding?.contentType?.split(", ").at(-1) ?? type);
}

/** The body. */
export function toBody(fields: readonly Field[], type: string): { type: string; text: string } {
  if (type === URLENCODED) {
    return { type, text: new URLSearchParams(fields.map(({ name, text }) => [name, text])).toString() };
  }
  const parts = fields.map(({ name, text, file }) => {
    const quoted = name.replaceAll('"', "%22");
    const head = file === undefined ? "" : `; filename="a file.bin"\r\ncontent-type: ${file}`;
    return `--${BOUNDARY}\r\ncontent-disposition: form-data; name="${quoted}"${head}\r\n\r\n${text}\r\n`;
  });
  return { type: `${type}; boundary=${BOUNDARY}`, text: `${parts.join("")}--${BOUNDARY}--\r\n` };
}

/** Bodies of the same content type that are no forms. */
export function brokenForms({ type }: RequestBody): { type: string; text: string }[] {
  if (type === URLENCODED) return ["a=%", "%zz=1", "a=1&b=%C3%28"].map((text) => ({ type, text }));
  const { text, type: complete } = toBody([{ name: "a", text: "1" }], type);
  return [{ type, text }, { type: complete, text: text.slice(0, -9) }, { type: complete, text: "a=1" }];
}
