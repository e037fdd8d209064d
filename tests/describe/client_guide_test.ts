// The programs of docs/client.md in other languages, with clients that are generated from its server.

import { assertEquals } from "@std/assert";
import { join } from "node:path";
import { Serving } from "../spec/support/serving.ts";
import { ClientGuide } from "../support/client_guide.ts";
import { consume, hasConsumers, runChecked } from "./consumers.ts";
import { GO_FOLDER, isMissing, run, Toolbox } from "./toolbox.ts";

const [python, go] = [await Toolbox.python(), await Toolbox.go()];

/** The server of the guide, which is running, and a folder with its document. */
class Generating implements AsyncDisposable {
  readonly guide: ClientGuide;
  readonly serving: Serving;
  readonly folder: string;

  private constructor(guide: ClientGuide, serving: Serving, folder: string) {
    this.guide = guide;
    this.serving = serving;
    this.folder = folder;
  }

  static async start(): Promise<Generating> {
    const guide = await ClientGuide.open();
    const app = await guide.server();
    const folder = await Deno.makeTempDir({ prefix: "webfw_client_guide_" });
    await Deno.writeTextFile(join(folder, "document.json"), JSON.stringify(app.openapi()));
    return new Generating(guide, await Serving.start(app), folder);
  }

  /** Writes a program of the guide into the folder. */
  async write(name: string): Promise<void> {
    await this.guide.write(name, this.folder, this.serving.origin);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.serving[Symbol.asyncDispose]();
    await this.guide[Symbol.asyncDispose]();
    await Deno.remove(this.folder, { recursive: true });
  }
}

Deno.test(
  "The programs of the guide call its server by openapi-fetch and hey-api, which also reads events",
  { ignore: !await hasConsumers() },
  async () => {
    await using generating = await Generating.start();
    const { folder } = generating;
    await consume("generate.ts", ["."], folder);
    await generating.write("openapi_fetch.ts");
    assertEquals(await runChecked("openapi_fetch.ts", [], folder), "Emma\nVillette\n");
    await generating.write("hey_api.ts");
    assertEquals(await runChecked("hey_api.ts", [], folder), "Emma\nVillette\nShirley\n");
  },
);

Deno.test(
  "The program of the guide calls its server by openapi-python-client",
  { ignore: await isMissing(python) },
  async () => {
    await using generating = await Generating.start();
    const { folder } = generating;
    await generating.write("main.py");
    const args = ["--path", "document.json", "--meta", "none", "--output-path", "books_api"];
    await python.run("openapi-python-client", ["generate", ...args], folder);
    await python.run("mypy", ["--follow-imports", "silent", "main.py"], folder);
    assertEquals(await python.run("python", ["main.py"], folder), "Emma\nAgnes Grey\n");
  },
);

Deno.test("The program of the guide calls its server by oapi-codegen", { ignore: await isMissing(go) }, async () => {
  await using generating = await Generating.start();
  const { folder } = generating;
  await generating.write("main.go");
  await Deno.mkdir(join(folder, "books"));
  const args = ["-generate", "types,client", "-package", "books", "-o", join("books", "client.go"), "document.json"];
  await go.run("oapi-codegen", args, folder);
  const module = await Deno.readTextFile(join(GO_FOLDER, "go.mod"));
  await Deno.writeTextFile(join(folder, "go.mod"), module.replace(/^module .*/, "module example.com/shop"));
  await Deno.copyFile(join(GO_FOLDER, "go.sum"), join(folder, "go.sum"));
  assertEquals(await run("go", ["run", "."], folder), "Emma\n");
});
