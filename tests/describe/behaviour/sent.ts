// A request to an operation, also as a command line.

import type { OpenAPIParameter } from "../../../src/http/operation.ts";
import type { Random } from "../../unit/support/random.ts";
import type { Operation } from "./operations.ts";

/** A request by its parts. */
export interface Sent {
  readonly operation: Operation;
  /** The texts of parameters. */
  readonly texts: ReadonlyMap<OpenAPIParameter, readonly string[]>;
  readonly body?: { readonly type: string | undefined; readonly text: string } | undefined;
  /** Further headers. */
  readonly headers?: Readonly<Record<string, string>>;
}

const ORIGIN = "http://localhost";

/**
 * Writes the URL. Texts may be escaped more than they have to be, and blanks in the query in either
 * way.
 */
export function urlOf({ operation, texts }: Sent, random?: Random): string {
  const escape = (text: string): string => random?.oneIn(8) ? escapeAll(text) : encodeURIComponent(text);
  const query: string[] = [];
  let path = operation.path;
  for (const [{ in: place, name }, values] of texts) {
    if (place === "path") path = path.replace(`{${name}}`, () => escape(values[0]!));
    if (place !== "query") continue;
    for (const value of values) {
      const text = random?.oneIn(2) ? escape(value).replaceAll("%20", "+") : escape(value);
      query.push(`${escape(name)}=${text}`);
    }
  }
  // Undeclared parameters are ignored.
  if (random?.oneIn(10)) query.push(random.pick(["other=1", "__proto__=1", "constructor", "=", "&", "%zz=1"]));
  return `${ORIGIN}${path}${query.length > 0 ? `?${query.join("&")}` : ""}`;
}

function escapeAll(text: string): string {
  return [...new TextEncoder().encode(text)].map((byte) => `%${byte.toString(16).padStart(2, "0")}`).join("");
}

/** The request. */
export function toRequest(sent: Sent, url: string): Request {
  const { operation: { method }, body } = sent;
  // A body of bytes sets no content type.
  const bytes = body && body.text !== "" ? new TextEncoder().encode(body.text) : null;
  return new Request(url, { method, headers: headersOf(sent), body: bytes });
}

function headersOf({ texts, body, headers = {} }: Sent): Headers {
  const all = new Headers(headers);
  const cookies: string[] = [];
  for (const [{ in: place, name }, values] of texts) {
    if (place === "header") all.set(name, values.join(", "));
    if (place === "cookie") cookies.push(`${name}=${values[0]}`);
  }
  const given = all.get("cookie");
  if (given !== null) cookies.push(given);
  if (cookies.length > 0) all.set("cookie", cookies.join("; "));
  if (body?.type !== undefined) all.set("content-type", body.type);
  return all;
}

/** The same for a shell. */
export function toCommand(sent: Sent, url: string): string {
  const { operation: { method }, body } = sent;
  const headers = [...headersOf(sent)].map(([name, value]) => ` -H ${quote(`${name}: ${value}`)}`).join("");
  const data = body && body.text !== "" ? ` --data-raw ${quote(shortened(body.text))}` : "";
  return `curl -i -X ${method}${headers}${data} ${quote(url)}`;
}

function quote(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}

/** A short text for people to read. */
export function shortened(text: string): string {
  return text.length <= 2000 ? text : `${text.slice(0, 2000)}… (${text.length} characters)`;
}
