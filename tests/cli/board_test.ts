// "`webfw run --reload` serves it at `/_board` beside the application […] and prints its address.
// `--no-board` leaves it out." (board.md, section 1)

import { assertEquals, assertMatch } from "@std/assert";
import { freePorts } from "../support/free_ports.ts";
import { until } from "../support/wait.ts";
import { frameworkImports } from "./framework.ts";
import { Project } from "./project.ts";
import { Webfw } from "./webfw.ts";

const MAIN = `import { App } from "@webfw/core";
export const app = new App();
app.get("/hello", async () => "Hello");`;

interface Started extends AsyncDisposable {
  readonly webfw: Webfw;
  readonly origin: string;
}

async function start(main: string, ...args: string[]): Promise<Started> {
  const config = JSON.stringify({ imports: await frameworkImports() });
  const project = await Project.create({ "main.ts": main, "deno.json": config });
  const port = `${freePorts(1)[0]}`;
  const webfw = await Webfw.start(["run", "main.ts:app", "--port", port, ...args], { cwd: project.path });
  return {
    webfw,
    origin: `http://127.0.0.1:${port}`,
    async [Symbol.asyncDispose]() {
      await webfw[Symbol.asyncDispose]();
      await project[Symbol.asyncDispose]();
    },
  };
}

async function statusOf(url: string, headers: HeadersInit = {}): Promise<number> {
  const response = await fetch(url, { headers });
  await response.body?.cancel();
  return response.status;
}

Deno.test("webfw run --reload serves the board, prints its address, and leaves it out of the access log", async () => {
  await using started = await start(MAIN, "--reload");
  const { webfw, origin } = started;
  await until("the address of the board", () => webfw.stderr.text.includes(`Board on ${origin}/_board/`));
  assertEquals(await statusOf(`${origin}/_board/`), 200);
  assertEquals(await statusOf(`${origin}/_board/`, { "x-forwarded-for": "127.0.0.1" }), 404);
  assertEquals(await statusOf(`${origin}/hello`), 200);
  await until("the access log", () => webfw.stderr.text.includes("GET /hello 200"));
  // For others there is nothing at this path, so that their requests are logged like any other.
  assertEquals(webfw.stderr.text.match(/GET \/_board\S* \d+/g), ["GET /_board/ 404"]);
});

Deno.test("webfw run --reload --no-board, and webfw run, serve none", async () => {
  for (const args of [["--reload", "--no-board"], []]) {
    await using started = await start(MAIN, ...args);
    const { webfw, origin } = started;
    await until("the address of the page", () => webfw.stderr.text.includes("Documentation on"));
    assertEquals(await statusOf(`${origin}/_board/`), 404);
    assertEquals(webfw.stderr.text.includes("Board on"), false);
  }
});

Deno.test("An application with a route at /_board keeps it, and the command says why there is no board", async () => {
  await using started = await start(`${MAIN}\napp.get("/_board/mine", async () => "mine");`, "--reload");
  const { webfw, origin } = started;
  await until("the address", () => webfw.stderr.text.includes("Documentation on"));
  assertMatch(webfw.stderr.text, /The board is not shown: .*GET \/_board\/mine is there/);
  assertEquals(await (await fetch(`${origin}/_board/mine`)).json(), "mine");
});
