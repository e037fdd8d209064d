// shipping.md, section 2: "limits: { streams } (WebSockets and streams that are open) bounds what
// one process holds: 503 beyond".

import { assert, assertEquals, assertThrows } from "@std/assert";
import { App, SSE } from "@webfw/core";
import { ChildProgram, CORE } from "../support/child_program.ts";
import { until } from "../../support/wait.ts";
import { exchange, headerOf, RawConnection, type RawReply } from "../support/raw_connection.ts";
import { upgradeRequest } from "../support/raw_socket.ts";
import { TemporaryFolder } from "../support/temporary_folder.ts";
import { ticks } from "../support/ticks.ts";

const PROGRAM = `
import { App, file, SSE } from "${CORE}";
const never = new Promise(() => {});
const app = new App({ limits: { streams: 4 } });
app.get("/events", async (request) => SSE(request.app.topic("news").subscribe()));
app.get("/lines", async function* () {
  try {
    yield 1;
    await never;
  } finally {
    console.log("lines ended");
  }
});
app.get("/bytes", async () => new ReadableStream({ start: (to) => to.enqueue(new Uint8Array(1)) }));
app.websocket("/socket", async (socket) => {
  for await (const _ of socket);
});
app.get("/more", { limits: { streams: 1 } }, async function* () {
  yield 1;
});
app.get("/json", async () => "served");
app.get("/file", async () => await file("FILE"));
await app.run({ port: 0, onListen: ({ port }) => console.log("port " + port) });
`;

const get = (path: string) => `GET ${path} HTTP/1.1\r\nHost: x\r\n\r\n`;

/** The ways to open something that lasts. */
const KINDS: Readonly<Record<string, string>> = {
  "/events": get("/events"),
  "/lines": get("/lines"),
  "/bytes": get("/bytes"),
  "/socket": upgradeRequest("/socket"),
};

/** Opens a stream or socket: its connection, or the refusal. */
async function open(port: number, request: string): Promise<RawConnection | RawReply> {
  const connection = await RawConnection.open(port);
  await connection.write(request);
  const head = await connection.until("\r\n\r\n");
  if (/^HTTP\/1\.1 (?:200|101) /.test(head)) return connection;
  connection.close();
  return await exchange(port, request);
}

Deno.test("limits: { streams } bounds what one process holds: 503 beyond, and again when one has ended", async () => {
  await using folder = await TemporaryFolder.make();
  const path = await folder.write("a.txt", "content");
  await using child = await ChildProgram.start(PROGRAM.replace("FILE", path));
  const port = await child.port();
  const opened = new Map<string, RawConnection>();
  using closing = new DisposableStack();
  for (const [kind, request] of Object.entries(KINDS)) {
    const connection = await open(port, request);
    assert(connection instanceof RawConnection, kind);
    opened.set(kind, closing.use(connection));
  }
  for (const [kind, request] of Object.entries(KINDS)) {
    const refused = await open(port, request);
    assert(!(refused instanceof RawConnection), kind);
    assertEquals([refused.status, headerOf(refused, "retry-after")], [503, "1"], kind);
    assertEquals(JSON.parse(refused.body).detail, "Too many streams are open");
  }
  // What does not last is served.
  assertEquals((await exchange(port, get("/json"))).body, '"served"');
  assertEquals((await exchange(port, get("/file"))).body, "content");
  for (const [kind, connection] of opened) {
    connection.close();
    for (;;) {
      const again = await open(port, KINDS[kind]!);
      if (!(again instanceof RawConnection)) continue;
      closing.use(again);
      break;
    }
    assertEquals((await exchange(port, KINDS[kind]!)).status, 503, kind);
  }
  // A route's own bound counts all streams, too.
  assertEquals((await exchange(port, get("/more"))).status, 503);
});

Deno.test("What was refused or has ended takes no place, and its source is closed", async () => {
  const app = new App({ limits: { streams: 1 } });
  const ended: string[] = [];
  let isOpen = true;
  app.get("/lines/{name}", async function* (_request, { name }) {
    try {
      while (isOpen) {
        yield name;
        await ticks(1);
      }
    } finally {
      ended.push(name);
    }
  });
  app.get("/events/{name}", async (_request, { name }) =>
    SSE((async function* () {
      try {
        yield name;
      } finally {
        ended.push(name);
      }
    })()));
  const get = (path: string) => app.fetch(new Request(`http://localhost${path}`));
  const status = async (path: string) => {
    const reply = await get(path);
    await reply.text();
    return reply.status;
  };
  const first = await get("/lines/a");
  const reader = first.body!.getReader();
  await reader.read();
  assertEquals([await status("/lines/b"), await status("/events/c")], [503, 503]);
  isOpen = false;
  while (!(await reader.read()).done);
  await until("the stream ends", () => ended.length > 0);
  for (const path of ["/events/d", "/events/e", "/lines/f"]) assertEquals(await status(path), 200, path);
  await app.stop();
});

Deno.test("A bound is a positive number", () => {
  for (const streams of [0, -1, NaN, "10"]) {
    assertThrows(() => new App({ limits: { streams: streams as number } }), RangeError, '"streams" must be a positive');
  }
});

Deno.test({
  name: "A start that reaches the limit of files keeps serving what it has, files and new modules, too",
  ignore: Deno.build.os === "windows",
  fn: async () => {
    await using folder = await TemporaryFolder.make();
    await folder.write("a.txt", "content");
    const program = `
      import { App } from "${CORE}";
      const app = new App();
      app.files("/", ${JSON.stringify(folder.path)});
      await app.run({ port: 0, onListen: ({ port }) => console.log("port " + port) });
    `;
    const descriptors = 80;
    await using child = await ChildProgram.start(program, { descriptors });
    const port = await child.port();
    using kept = await RawConnection.open(port);
    await kept.write(get("/none"));
    assertEquals((await kept.reply()).status, 404);
    const connect = () => Deno.connect({ hostname: "127.0.0.1", port });
    const flood = await Promise.allSettled(Array.from({ length: 2 * descriptors }, connect));
    await child.printed(".* WARN The limit of open files is reached: no connections are accepted until that ends");
    for (let count = 0; count < 3; count++) {
      await kept.write(get("/a.txt"));
      assertEquals((await kept.reply()).body, "content");
    }
    for (const attempt of flood) if (attempt.status === "fulfilled") attempt.value.close();
    // "accepts again when there is room".
    for (;;) {
      const reply = await exchange(port, get("/a.txt")).catch(() => undefined);
      if (reply) {
        assertEquals(reply.body, "content");
        break;
      }
      await ticks(5);
    }
    child.signal("SIGTERM");
    assertEquals((await child.end()).code, 0);
  },
});
