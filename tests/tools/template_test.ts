import { assertEquals } from "@std/assert";
import { join } from "node:path";
import config from "../../deno.json" with { type: "json" };
import cli from "../../packages/cli/deno.json" with { type: "json" };
import { TEMPLATE_JSON, templateJson } from "../../dev/tools/template.ts";

const FOLDER = join(import.meta.dirname!, "..", "..", "dev", "template");

async function read(path: string): Promise<string> {
  return await Deno.readTextFile(join(FOLDER, path));
}

Deno.test("webfw init writes the files in template/: else run deno task template", async () => {
  assertEquals(await Deno.readTextFile(TEMPLATE_JSON), await templateJson());
});

Deno.test("a new service takes the packages of this version", async () => {
  const { imports, tasks } = JSON.parse(await read("deno.json"));
  assertEquals(imports, {
    "@std/assert": config.imports["@std/assert"],
    "@webfw/core": `jsr:@webfw/core@^${config.version}`,
    "valibot": config.imports.valibot,
  });
  const packages = Object.values<string>(tasks).flatMap((task) => task.match(/jsr:\S+/g) ?? []);
  assertEquals(new Set(packages), new Set([`jsr:@webfw/cli@^${cli.version}`]));
});

Deno.test("a new service is tested and deployed with one version of Deno", async () => {
  const [, deployed] = /^FROM denoland\/deno:(\d+\.\d+\.\d+)$/m.exec(await read("Dockerfile"))!;
  const [, tested] = /^ +deno-version: (\S+)$/m.exec(await read(".github/workflows/test.yml"))!;
  assertEquals(tested, deployed);
});
