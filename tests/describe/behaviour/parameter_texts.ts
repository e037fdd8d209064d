// Parameters as text: how the document serializes a value, and its verdict on a text.

import type { OpenAPIParameter } from "../../../src/http/operation.ts";
import type { Random } from "../../unit/support/random.ts";
import { type Edges, SECRET } from "./changes.ts";
import type { Schema, Schemas, Verdict } from "./schemas.ts";

/** JSON's grammar of numbers, RFC 8259 section 6. */
const NUMBER = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/;

/**
 * Texts that a header can carry: visible characters of Latin-1, and blanks between them (RFC 9110
 * section 5.5).
 */
const HEADER = /^(?:[\x21-\x7e\xa1-\xff](?:[\x20-\x7e\xa1-\xff]*[\x21-\x7e\xa1-\xff])?)?$/;
const HEADER_ELEMENT = /^[\x21-\x2b\x2d-\x7e\xa1-\xff]+$/;
/** Texts that a cookie carries without any encoding. Clients do not agree on encodings. */
const COOKIE = /^[\w.~-]*$/;

/** Texts that are often taken for something that they are not. */
const ODD: readonly string[] = [
  ...[
    "",
    " ",
    " 1",
    "1 ",
    "x",
    "0x10",
    "0b1",
    "1e999",
    "-1e999",
    "NaN",
    "Infinity",
    "-0",
    "00",
    "007",
    "+5",
    ".5",
    "5.",
  ],
  ...["-1", "1.5", "5.0", "1e3", "1E+2", "1_000", "1,000", "99999999999999999999", "9007199254740993", "٣", "１"],
  ...["true", "TRUE", "True", "yes", "1", "0", "null", "NULL", "undefined", "None", "[]", "{}", '"a"', "a,b", "1,2"],
  ...["__proto__", "constructor", "toString", "Grüße", "😀", "%00", "a/b", "2026-02-30", "2026-13-01T00:00:00Z"],
  ...["x".repeat(500), SECRET, `${SECRET} 1`],
];

/** Whether a parameter is written as several texts. */
export function isList({ schema }: OpenAPIParameter, schemas: Schemas): boolean {
  const takesLists = (part: Schema): boolean => {
    if (typeof part === "boolean") return false;
    const { type, $ref, anyOf = [], oneOf = [], allOf = [] } = part;
    if ($ref !== undefined) return takesLists(schemas.resolve($ref) as Schema);
    return [type].flat().includes("array") || [...anyOf, ...oneOf, ...allOf].some(takesLists);
  };
  return takesLists(schema);
}

/** The texts of a value; undefined where the place cannot carry it. */
export function textsOf(value: unknown, { in: place }: OpenAPIParameter, random: Random): string[] | undefined {
  const texts = (Array.isArray(value) ? value : [value]).map((part) => textOf(part, random));
  const isSendable = texts.length > 0 && texts.every((text) => canCarry(text, place, Array.isArray(value)));
  return isSendable ? texts : undefined;
}

function textOf(value: unknown, random: Random): string {
  if (typeof value === "boolean" && random.oneIn(4)) return value ? "1" : "0";
  if (typeof value !== "number" || random.oneIn(2)) return String(value);
  return random.pick([
    JSON.stringify(value),
    value.toExponential(),
    Number.isInteger(value) ? `${value}.0` : `${value}`,
  ]);
}

/** Whether a text arrives unchanged. */
function canCarry(text: string, place: OpenAPIParameter["in"], isElement: boolean): boolean {
  switch (place) {
    case "path":
      // Nothing is no segment, and a URL has dot segments resolved before it is sent.
      return text !== "" && text !== "." && text !== "..";
    case "query":
      return true;
    case "header":
      return (isElement ? HEADER_ELEMENT : HEADER).test(text);
    case "cookie":
      return COOKIE.test(text);
  }
}

/** Texts for which the document has a verdict: unusual ones, and ones near its bounds. */
export function oddTexts(parameter: OpenAPIParameter, edges: Edges, random: Random): string[] | undefined {
  const near = [...edges.numbers, ...edges.constants].map(String);
  const sized = edges.lengths.map((length) => "x".repeat(length));
  const text = random.pick(random.oneIn(3) && near.length + sized.length > 0 ? [...near, ...sized] : ODD);
  return canCarry(text, parameter.in, false) ? [text] : undefined;
}

/** The document's verdict on texts, for all readings that their schema allows. */
export function verdictOf(texts: readonly string[], parameter: OpenAPIParameter, schemas: Schemas): Verdict {
  const meanings = isList(parameter, schemas)
    ? listsOf(texts, parameter)
    : texts.length === 1
    ? meaningsOf(texts[0]!)
    : [];
  const verdicts = meanings.map((value) => schemas.verdict(parameter.schema, value));
  return verdicts.includes("valid") ? "valid" : verdicts.includes("open") ? "open" : "invalid";
}

function meaningsOf(text: string): unknown[] {
  const meanings: unknown[] = [text];
  if (NUMBER.test(text) && Number.isFinite(Number(text))) meanings.push(Number(text));
  if (text === "true" || text === "1") meanings.push(true);
  if (text === "false" || text === "0") meanings.push(false);
  if (text === "null") meanings.push(null);
  return meanings;
}

function listsOf(texts: readonly string[], { in: place }: OpenAPIParameter): unknown[][] {
  // One header can carry a list, with commas between its elements (RFC 9110 section 5.6.1).
  const elements = place === "header"
    ? texts.flatMap((text) => text.split(",").map((element) => element.trim()).filter((element) => element !== ""))
    : texts;
  return elements.reduce<unknown[][]>(
    (lists, text) => lists.flatMap((list) => meaningsOf(text).map((value) => [...list, value])),
    [[]],
  );
}
