// Clients that openapi-python-client makes of documents have all operations, and make the round
// trip.

import { assertEquals } from "@std/assert";
import { join } from "node:path";
import { Serving } from "../spec/support/serving.ts";
import { Documents } from "./documents.ts";
import { operationNames, plainName } from "./operation_names.ts";
import { isMissing, PYTHON_FOLDER, Toolbox } from "./toolbox.ts";

const toolbox = await Toolbox.python();

/** Makes a client as a package in the folder, without any warning. */
async function generate(name: string, folder: string): Promise<void> {
  const config = join(PYTHON_FOLDER, "openapi_python_client.yml");
  const args = [
    "--path",
    join("..", name, "document.json"),
    "--meta",
    "none",
    "--output-path",
    name,
    "--config",
    config,
  ];
  assertEquals(await toolbox.run("openapi-python-client", ["generate", ...args], folder), `Generating ${name}\n`);
}

/** The names of the operations that a client has: each is a module, in a folder of its tag. */
async function clientOperations(api: string): Promise<string[]> {
  const names: string[] = [];
  for await (const { name: tag, isDirectory } of Deno.readDir(api)) {
    if (!isDirectory) continue;
    for await (const { name } of Deno.readDir(join(api, tag))) {
      if (name !== "__init__.py") names.push(plainName(name.replace(/\.py$/, "")));
    }
  }
  return names.sort();
}

Deno.test(
  "Clients of openapi-python-client have all operations, fit their types, and make the round trip",
  { ignore: await isMissing(toolbox) },
  async () => {
    await using documents = await Documents.write();
    const folder = join(documents.folder, "python");
    await Deno.mkdir(folder);
    for (const name of ["bookshop", "museum"] as const) {
      await generate(name, folder);
      const expected = operationNames(documents[name].openapi());
      assertEquals(await clientOperations(join(folder, name, "api")), expected);
    }
    await Deno.copyFile(join(PYTHON_FOLDER, "calls.py"), join(folder, "calls.py"));
    // The generator also writes files that are not models. mypy finds faults in them, which do not
    // matter here.
    const cache = join(toolbox.folder, "mypy_cache");
    await toolbox.run("mypy", ["--follow-imports", "silent", "--cache-dir", cache, "calls.py"], folder);
    await using bookshop = await Serving.start(documents.bookshop);
    await using museum = await Serving.start(documents.museum);
    assertEquals(await toolbox.run("python", ["calls.py", bookshop.origin, museum.origin], folder), "Done\n");
  },
);
