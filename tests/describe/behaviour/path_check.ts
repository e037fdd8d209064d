// Checks paths against the document: methods that a path does not serve, and unknown paths.

import type { OpenAPIDocument } from "../../../src/describe/openapi/document.ts";
import type { Bench } from "./operation_check.ts";
import type { Operation } from "./operations.ts";
import { type Sent, urlOf } from "./sent.ts";

const METHODS: readonly string[] = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "REPORT"];
const UNKNOWN: readonly string[] = [
  "/nowhere",
  "/__proto__",
  "/constructor/x",
  "/%7Bid%7D",
  "/a%2Fb",
  "/Gr%C3%BC%C3%9Fe/",
];
const MALFORMED: readonly string[] = ["/%", "/%zz", "/a%2F..%2Fb", "/%C3%28"];

/** Sends each method that the document does not have, to the path of a request. */
export async function checkMethods(sent: Sent, bench: Bench): Promise<void> {
  const served = bench.paths.methods(new URL(urlOf(sent)).pathname);
  for (const method of METHODS.filter((method) => !served.has(method))) {
    const operation = undocumented(method, sent.operation.path, bench);
    const refused: Sent = { operation, texts: sent.texts };
    const received = await bench.exchange.send(refused, { verdict: "invalid", status: 405 });
    const allow = received.headers.get("allow");
    const expected = [...served].sort().join(", ");
    if (allow !== expected) bench.exchange.report(refused, received, `Allow is "${allow}" instead of "${expected}"`);
  }
}

/** Requests paths that the document does not have, and some that are invalid. */
export async function checkUnknownPaths(bench: Bench): Promise<void> {
  const ask = async (path: string, status: number) => {
    const sent: Sent = { operation: undocumented("GET", path, bench), texts: new Map() };
    await bench.exchange.send(sent, { verdict: "invalid", status });
  };
  for (const path of UNKNOWN) if (bench.paths.methods(path).size === 0) await ask(path, 404);
  for (const path of MALFORMED) await ask(path, 400);
}

/** An operation that the document does not have. Only the format of all errors is known. */
function undocumented(method: string, path: string, { schemas }: Bench): Operation {
  const { responses = {} } = (schemas.document as OpenAPIDocument).components;
  const replies = { "4XX": responses.Problem ?? { description: "", content: { "*/*": {} } } };
  return { name: `${method} ${path}`, method, path, parameters: [], body: undefined, replies, security: [] };
}
