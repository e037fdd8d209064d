// The programs that the command starts are sent as the source of their classes.

import { assertEquals } from "@std/assert";
import { join } from "node:path";
import { runnerSource } from "../../src/cli/launch.ts";
import { PermissionsRunner, SettingsRunner } from "../../src/cli/runner/env.ts";
import { OpenAPIRunner, RoutesRunner } from "../../src/cli/runner/inspect.ts";
import { ServeRunner } from "../../src/cli/runner/serve.ts";
import { TopicsRunner } from "../../src/cli/runner/topics.ts";
import { Project } from "./project.ts";

async function undefinedNames(source: string): Promise<string[]> {
  await using project = await Project.create({ "deno.json": {}, "program.js": source });
  const args = ["lint", "--json", "--rules-tags=", "--rules-include=no-undef", join(project.path, "program.js")];
  const { stdout } = await new Deno.Command(Deno.execPath(), { args, cwd: project.path }).output();
  const { diagnostics, errors } = JSON.parse(new TextDecoder().decode(stdout));
  assertEquals(errors, []);
  return diagnostics.map(({ message }: { message: string }) => message);
}

const RUNNERS = [ServeRunner, RoutesRunner, OpenAPIRunner, TopicsRunner, SettingsRunner, PermissionsRunner];

for (const runner of RUNNERS) {
  Deno.test(`The program of ${runner.name} uses no name that is not sent with it`, async () => {
    const source = runnerSource(runner, "file:///main.ts", {});
    assertEquals(await undefinedNames(source), []);
    assertEquals(await undefinedNames(`${source}\nnowhere();`), ["nowhere is not defined"]);
  });
}

Deno.test("A program fits the length of a command line on Windows, of 32,767 characters", () => {
  for (const runner of RUNNERS) {
    const { length } = encodeURIComponent(runnerSource(runner, "file:///main.ts", {}));
    assertEquals(length < 28_000, true, `${runner.name}: ${length}`);
  }
});
