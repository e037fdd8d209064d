// An application without agents does not load the SDK of the protocol.

import { assertEquals } from "@std/assert";
import { fileURLToPath } from "node:url";
import { prepareDeno } from "../../../../tools/deno.ts";

interface ModuleGraph {
  readonly modules: readonly {
    readonly dependencies?: readonly {
      readonly specifier: string;
      readonly code?: unknown;
      readonly isDynamic?: true;
    }[];
  }[];
}

Deno.test("The SDK of the protocol is imported in one place, on first use", async () => {
  const root = fileURLToPath(new URL("../../../..", import.meta.url));
  await using prepared = await prepareDeno(["info", "--json", "--no-lock", "mod.ts"], { cwd: root, stderr: "null" });
  const { stdout } = await prepared.command.output();
  const { modules }: ModuleGraph = JSON.parse(new TextDecoder().decode(stdout));
  const imports = modules.flatMap(({ dependencies = [] }) => dependencies)
    .filter(({ specifier, code }) => specifier.startsWith("@modelcontextprotocol/") && code !== undefined);
  assertEquals(imports.map(({ specifier, isDynamic }) => ({ specifier, isDynamic })), [
    { specifier: "@modelcontextprotocol/server", isDynamic: true },
  ]);
});
