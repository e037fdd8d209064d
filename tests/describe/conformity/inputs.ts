// The inputs of an operation as its document tells them: what to send, and what has to be refused.

import type { Random } from "../../unit/support/random.ts";
import { lookUp, type Schema, type Schemas, step } from "./schemas.ts";

/** Where a parameter stands. */
export type Place = "path" | "query" | "header" | "cookie";

/** A parameter of an operation. */
export interface Parameter {
  readonly name: string;
  readonly in: Place;
  readonly required: boolean;
  readonly isList: boolean;
  /** Where its schema stands in the document. */
  readonly pointer: string;
}

/** What is sent: texts by parameter, one or several; and a body. */
export interface Sent {
  readonly texts: ReadonlyMap<Parameter, readonly string[]>;
  readonly body: { readonly type: string; readonly text: string } | undefined;
}

/** Reads the parameters of an operation. */
export function parametersOf(document: Record<string, unknown>, operation: string): Parameter[] {
  const listed = (lookUp(document, operation) as { parameters?: Record<string, unknown>[] }).parameters ?? [];
  return listed.map((_, index) => {
    const place = `${operation}/parameters/${index}`;
    const parameter = lookUp(document, place) as { name: string; in: Place; required?: boolean; schema: Schema };
    return {
      name: parameter.name,
      in: parameter.in,
      required: parameter.required === true,
      isList: isList(parameter.schema, document),
      pointer: `${place}/schema`,
    };
  });
}

function isList(schema: Schema, document: Record<string, unknown>): boolean {
  if (typeof schema === "boolean") return false;
  if (typeof schema.$ref === "string") return isList(lookUp(document, schema.$ref.slice(1)) as Schema, document);
  const options = [schema.anyOf, schema.oneOf, schema.allOf].flatMap((part) => (part ?? []) as Schema[]);
  return [schema.type].flat().includes("array") || options.some((option) => isList(option, document));
}

/** The texts that carry a value; none where text cannot carry it. */
export function toTexts(value: unknown, { in: place }: Parameter): readonly string[] | undefined {
  const texts = (Array.isArray(value) ? value : [value]).map((part) => typeof part === "string" ? part : String(part));
  const isSendable = texts.every((text) => {
    if (place === "path") return text !== "" && !/[./\\]/.test(text);
    if (place === "query") return true;
    return /^[\w-]+( [\w-]+)*$/.test(text);
  });
  return isSendable ? texts : undefined;
}

/** JSON's grammar of numbers. */
const NUMBER = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/;

/** All values that a text can stand for, as the interface says. */
function meaningsOf(text: string): unknown[] {
  const meanings: unknown[] = [text];
  if (NUMBER.test(text) && Number.isFinite(Number(text))) meanings.push(Number(text));
  if (text === "true" || text === "1") meanings.push(true);
  if (text === "false" || text === "0") meanings.push(false);
  if (text === "null") meanings.push(null);
  return meanings;
}

/** Whether the document says that texts are accepted. */
export function isAccepted(texts: readonly string[], { isList, pointer }: Parameter, schemas: Schemas): boolean {
  if (!isList) return texts.length === 1 && meaningsOf(texts[0]!).some((value) => schemas.accepts(pointer, value));
  const lists = texts.reduce<unknown[][]>(
    (all, text) => all.flatMap((before) => meaningsOf(text).map((value) => [...before, value])),
    [[]],
  );
  return lists.some((list) => schemas.accepts(pointer, list));
}

/** Texts that are often taken for something that they are not. */
export const ODD_TEXTS: readonly string[] = [
  "x",
  "0x10",
  "1e999",
  "NaN",
  "Infinity",
  "007",
  "+5",
  ".5",
  "5.",
  "-1",
  "1.5",
  "5.0",
  "1e3",
  "true",
  "TRUE",
  "1",
  "0",
  "null",
  "undefined",
  "99999999999999999999",
  "__proto__",
  "constructor",
  "Grüße",
  "[]",
  "{}",
  "a,b",
];

/** Values that a body rarely takes. */
const ODD_VALUES: readonly unknown[] = [
  null,
  true,
  false,
  -1,
  1.5,
  1e300,
  "",
  "odd",
  "12",
  "0x10",
  "2026-13-01",
  [],
  [1],
  {},
  { odd: 1 },
  [[]],
  { kind: "odd" },
];

/** A body with one thing changed: a part replaced, taken away, or added. */
export function changed(body: unknown, random: Random): unknown {
  const copy = structuredClone(body);
  const places: [Record<string, unknown> | unknown[], string | number][] = [];
  const walk = (value: unknown) => {
    if (typeof value !== "object" || value === null) return;
    for (const key of Array.isArray(value) ? value.keys() : Object.keys(value)) {
      places.push([value as Record<string, unknown>, key]);
      walk((value as Record<string | number, unknown>)[key]);
    }
  };
  walk(copy);
  if (places.length === 0 || random.oneIn(6)) return random.pick(ODD_VALUES);
  const [holder, key] = random.pick(places) as [Record<string | number, unknown>, string];
  switch (random.below(4)) {
    case 0:
      delete holder[key];
      break;
    case 1:
      holder[`${key}_odd`] = 1;
      break;
    default:
      holder[key] = random.pick(ODD_VALUES);
  }
  // As it arrives: an undefined or a hole in a list has no JSON.
  return JSON.parse(JSON.stringify(copy));
}

/** The request that carries what is sent. */
export function toRequest(method: string, path: string, { texts, body }: Sent): Request {
  const query = new URLSearchParams();
  const headers = new Headers();
  const cookies: string[] = [];
  for (const [{ in: place, name, isList }, values] of texts) {
    if (place === "path") path = path.replace(`{${name}}`, encodeURIComponent(values[0]!));
    else if (place === "query") { for (const value of values) query.append(name, value); }
    else if (place === "header") headers.set(name, isList ? values.join(", ") : values[0]!);
    else cookies.push(`${name}=${values[0]}`);
  }
  if (cookies.length > 0) headers.set("cookie", cookies.join("; "));
  if (body) headers.set("content-type", body.type);
  const search = query.size > 0 ? `?${query}` : "";
  return new Request(`http://localhost${path}${search}`, { method, headers, ...(body && { body: body.text }) });
}

/** The pointer of an operation. */
export function operationPointer(path: string, method: string): string {
  return `/paths${step(path)}/${method}`;
}
