// Clients that oapi-codegen makes of documents have all operations, and make the round trip.

import { assertEquals } from "@std/assert";
import { join } from "node:path";
import { Serving } from "../spec/support/serving.ts";
import { Documents } from "./documents.ts";
import { operationNames, plainName } from "./operation_names.ts";
import { GO_FOLDER, isMissing, run, Toolbox } from "./toolbox.ts";

const toolbox = await Toolbox.go();
/** A function for each operation, and maybe others for the kinds of bodies that it takes. */
const REQUEST = /^func New(\w+?)Request(?:With\w+)?\(/gm;

/** Makes a client as a package in the folder, without any warning. */
async function generate(name: string, folder: string): Promise<void> {
  await Deno.mkdir(join(folder, name), { recursive: true });
  const output = join(name, "client.go");
  const document = join("..", name, "document.json");
  const args = ["-generate", "types,client", "-package", name, "-o", output, document];
  assertEquals(await toolbox.run("oapi-codegen", args, folder), "");
}

/** The names of the operations that a client has. */
async function clientOperations(file: string): Promise<string[]> {
  const source = await Deno.readTextFile(file);
  return [...new Set([...source.matchAll(REQUEST)].map(([, name]) => plainName(name!)))].sort();
}

Deno.test(
  "Clients of oapi-codegen have all operations, compile, and make the round trip",
  { ignore: await isMissing(toolbox) },
  async () => {
    await using documents = await Documents.write();
    const folder = join(documents.folder, "go");
    for (const name of ["bookshop", "museum"] as const) {
      await generate(name, folder);
      const expected = operationNames(documents[name].openapi());
      assertEquals(await clientOperations(join(folder, name, "client.go")), expected);
    }
    for (const name of ["go.mod", "go.sum", "calls.go"]) {
      await Deno.copyFile(join(GO_FOLDER, name), join(folder, name));
    }
    await run("go", ["vet", "./..."], folder);
    await using bookshop = await Serving.start(documents.bookshop);
    await using museum = await Serving.start(documents.museum);
    assertEquals(await run("go", ["run", ".", bookshop.origin, museum.origin], folder), "Done\n");
  },
);
