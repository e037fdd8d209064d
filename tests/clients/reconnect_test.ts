// Sockets that come back, where users run them: a page in Chromium, Node.js and Bun.

import { assertEquals } from "@std/assert";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { App, file, html } from "@webfw/core";
import { bundle } from "../../dev/tools/bundle.ts";
import { browserTest } from "../browser/support/browser.ts";
import { Serving } from "../spec/support/serving.ts";
import { freePorts } from "../support/free_ports.ts";
import { Relay } from "../support/relay.ts";
import { type Ask, type Connections, room } from "./programs/reconnect_api.ts";
import { platformTest } from "./support/platform.ts";

const MODULE = join(import.meta.dirname!, "programs", "reconnect.ts");

/** Each list of messages comes back with the connection after the one on which they were sent. */
const EXPECTED = {
  heard: [1, 2, 3, 4, 5],
  given: ["restart", "close 1012", "darken,in the dark", "cut"],
  failed: ["WebSocketClosedError"],
  protocol: "v1",
  ended: ["WebSocketClosedError", 4001],
};

/** A server at the end of a wire, and what the client may ask of both. */
class Trouble implements AsyncDisposable {
  readonly connections: Connections = { count: 0 };
  #relay!: Relay;
  #serving!: Serving;
  #restarting: Promise<void> | undefined;

  /** @param folder The scripts of the page. */
  static async start(folder?: string): Promise<Trouble> {
    const trouble = new Trouble();
    // No other program may take the port while the server restarts.
    const [port = 0] = freePorts(1);
    trouble.#serving = await Serving.start(appOf(trouble, folder), { port });
    trouble.#relay = new Relay(trouble.#serving.port);
    return trouble;
  }

  /** The argument of the program. */
  get addresses(): string {
    return `http://127.0.0.1:${this.#relay.port} ${this.#serving.origin}/whole`;
  }

  readonly act = (ask: Ask): void => {
    if (ask === "restart") this.#restarting ??= this.#restart();
    else if (ask === "darken") this.#relay.set("lossy");
    else if (ask === "cut") this.#relay.cutOpen();
  };

  makeWhole(): void {
    this.#relay.set("whole");
  }

  async #restart(): Promise<void> {
    const { port } = this.#serving;
    await this.#serving.stop();
    this.#serving = await Serving.start(appOf(this), { port });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#restarting;
    this.#relay[Symbol.dispose]();
    await this.#serving.stop();
  }
}

function appOf(trouble: Trouble, folder?: string): App {
  const app = new App();
  app.get("/", async () => html("<!doctype html><link rel=icon href='data:,'><title>Page</title>"));
  app.get("/whole", async () => trouble.makeWhole());
  if (folder !== undefined) {
    app.get("/scripts/{name}", async (_request, { name }) => await file(pathToFileURL(join(folder, name))));
  }
  room(app, trouble.connections, trouble.act);
  return app;
}

for (const platform of ["node", "bun"] as const) {
  platformTest(`A socket comes back in ${platform}`, platform, async (run) => {
    await using trouble = await Trouble.start();
    assertEquals(await run(MODULE, "run", trouble.addresses), EXPECTED);
  });
}

browserTest("A socket comes back in a page", async (browser) => {
  const folder = await Deno.makeTempDir({ prefix: "webfw_client_" });
  await bundle(MODULE, folder, { splits: true, minifies: true });
  await using trouble = await Trouble.start(folder);
  const page = await browser.newPage();
  const [base] = trouble.addresses.split(" ");
  await page.goto(base!);
  assertEquals(
    await page.evaluate(`import("/scripts/reconnect.js").then(({ run }) => run("${trouble.addresses}"))`),
    EXPECTED,
  );
  await page.close();
  await Deno.remove(folder, { recursive: true });
});
