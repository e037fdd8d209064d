// The schemas of a document, as a validator of others reads them.

import { Ajv2020, type ValidateFunction } from "npm:ajv@^8.20.0/dist/2020.js";
import { fullFormats } from "npm:ajv-formats@^3.0.1/dist/formats.js";
import type { JsonSchema } from "../../../src/schema/json_schema.ts";

/** A schema in a document. */
export type Schema = JsonSchema | boolean;

/**
 * The document's verdict on a value. It is open if only a format fails, since formats are
 * annotations (JSON Schema, section 7), or if only blanks around texts fail, since trimmed texts
 * are described without them.
 */
export type Verdict = "valid" | "invalid" | "open";

/** Formats that are checked to the letter. */
const EXACT: readonly string[] = ["date", "date-time", "ipv4", "ipv6"];

const BASE = "http://document/";

/** The schemas of one document. */
export class Schemas {
  /** The document, with references that say which document they are into. */
  readonly document: unknown;
  readonly #validators = new WeakMap<JsonSchema, ValidateFunction>();
  readonly #ajv: Ajv2020;
  #isDoubtful = false;

  /** Reads a document: JSON, with schemas in whatever places. */
  constructor(document: unknown) {
    this.document = JSON.parse(
      JSON.stringify(document),
      (key, value) => key === "$ref" && typeof value === "string" ? BASE + value : value,
    );
    this.#ajv = new Ajv2020({
      strict: false,
      ownProperties: true,
      logger: false,
    });
    // Its own take no large number for a multiple of anything, and overlook that a key is missing
    // that is empty.
    this.#ajv.removeKeyword("multipleOf").addKeyword({
      keyword: "multipleOf",
      type: "number",
      validate: (unit: number, value: number) => value % unit === 0,
    });
    this.#ajv.removeKeyword("required").addKeyword({
      keyword: "required",
      type: "object",
      validate: (names: readonly string[], value: object) => names.every((name) => Object.hasOwn(value, name)),
    });
    // The validator's own keyword keeps results of another list.
    this.#ajv.removeKeyword("contains").addKeyword({
      keyword: "contains",
      type: "array",
      macro: (item: Schema) => ({ not: { items: { not: item } } }),
    });
    for (const name of Object.keys(fullFormats)) {
      this.#ajv.addFormat(name, (text: string) => {
        if (EXACT.includes(name)) return hasFormat(text, name as keyof typeof fullFormats);
        this.#isDoubtful ||= !hasFormat(text, name as keyof typeof fullFormats);
        return true;
      });
    }
    this.#ajv.addSchema(this.document as JsonSchema, BASE);
  }

  /** The verdict of a schema of the document on a value. */
  verdict(schema: Schema, value: unknown): Verdict {
    if (typeof schema === "boolean") return schema ? "valid" : "invalid";
    let validate = this.#validators.get(schema);
    if (!validate) this.#validators.set(schema, validate = this.#ajv.compile(schema));
    this.#isDoubtful = false;
    if (!validate(value)) return validate(trimmed(value)) ? "open" : "invalid";
    return this.#isDoubtful ? "open" : "valid";
  }

  /** The target of a reference in the document (RFC 6901 section 6). */
  resolve(reference: string): unknown {
    return reference.replace(`${BASE}#`, "").split("/").slice(1).reduce<unknown>((target, token) => {
      const name = decodeURIComponent(token).replaceAll("~1", "/").replaceAll("~0", "~");
      return (target as Record<string, unknown>)[name];
    }, this.document);
  }

  /** A part of the document, or the target if it is a reference. */
  settle<Part>(part: Part | { readonly $ref: string }): Part {
    const { $ref } = part as { readonly $ref?: unknown };
    return typeof $ref === "string" ? this.settle(this.resolve($ref) as Part) : part as Part;
  }
}

function trimmed(value: unknown): unknown {
  if (typeof value === "string") return value.trim();
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return value.map(trimmed);
  return Object.fromEntries(Object.entries(value).map(([key, part]) => [key, trimmed(part)]));
}

/**
 * Stricter than the validator: "T" separates date and time, the offset has minutes (RFC 3339
 * section 5.6), and JavaScript can read the time, which excludes leap seconds.
 */
const DATE_TIME = /^[\d-]+t[\d:.]+(?:z|[+-]\d\d:\d\d)$/i;

function hasFormat(text: string, name: keyof typeof fullFormats): boolean {
  if (name === "date-time" && (!DATE_TIME.test(text) || Number.isNaN(Date.parse(text)))) return false;
  const format = fullFormats[name];
  const test = typeof format === "object" && "validate" in format ? format.validate : format;
  if (test instanceof RegExp) return test.test(text);
  return typeof test !== "function" || (test as (text: string) => boolean)(text);
}
