// An application downloads neither the SDK of agents nor Swagger UI before they are first used.

import { assertEquals, assertRejects } from "@std/assert";
import { fileURLToPath } from "node:url";
import config from "../../../deno.json" with { type: "json" };
import { PACKAGE as SDK } from "../../../src/describe/mcp/server.ts";
import { PACKAGE as SWAGGER_UI } from "../../../src/describe/page/assets.ts";
import { importLate } from "../../../src/base/runtime.ts";
import { prepareDeno } from "../../../dev/tools/deno.ts";

interface ModuleGraph {
  readonly modules: readonly {
    readonly dependencies?: readonly { readonly specifier: string; readonly code?: unknown; readonly type?: unknown }[];
  }[];
}

Deno.test("Deno finds the SDK of the protocol and Swagger UI by their types alone", async () => {
  const root = fileURLToPath(new URL("../../..", import.meta.url));
  await using prepared = await prepareDeno(["info", "--json", "--no-lock", "mod.ts"], { cwd: root, stderr: "null" });
  const { stdout } = await prepared.command.output();
  const { modules }: ModuleGraph = JSON.parse(new TextDecoder().decode(stdout));
  const imports = modules.flatMap(({ dependencies = [] }) => dependencies)
    .filter(({ specifier }) => /^(npm:)?(@modelcontextprotocol|swagger-ui-dist)/.test(specifier));
  // `deno cache` downloads types, so that an image has the packages, too.
  assertEquals(
    new Set(imports.map(({ specifier, type }) => type !== undefined && specifier)),
    new Set([
      "@modelcontextprotocol/server",
      "swagger-ui-dist",
    ]),
  );
  assertEquals(imports.filter(({ code }) => code !== undefined), []);
});

Deno.test("The specifiers that are imported late have the versions of deno.json", () => {
  const { "@modelcontextprotocol/server": sdk, "swagger-ui-dist": swaggerUI } = config.imports;
  assertEquals([SDK, SWAGGER_UI], [sdk, swaggerUI]);
});

Deno.test("A package that cannot be loaded is an error with a cure", async () => {
  await assertRejects(
    () => importLate("data:text/javascript,throw new Error()"),
    Error,
    `Cannot load "data:text/javascript,throw new Error()": it could not be downloaded, run "deno cache" beforehand`,
  );
});
