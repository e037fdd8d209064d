// Validates AsyncAPI documents: `asyncapi.ts <file>…` prints the errors and warnings of the
// reference parser for each file, as JSON.

import { Parser } from "@asyncapi/parser";

/** It asks for AsyncAPI 3.1. The documents are of 3.0. */
const OFF: ReadonlySet<string | number> = new Set(["asyncapi-latest-version"]);

const parser = new Parser();
const findings: string[][] = [];
for (const file of Deno.args) {
  const { diagnostics } = await parser.parse(await Deno.readTextFile(file));
  const faults = diagnostics.filter(({ code }) => !OFF.has(code));
  findings.push(faults.map(({ code, path, message }) => `${code} ${path.join("/")}: ${message}`));
}
console.log(JSON.stringify(findings));
Deno.exit();
