// Section 2 of the contract: run() serves until it is stopped, even if file descriptors run out.

import { assert, assertEquals } from "@std/assert";
import { ChildProgram, CORE } from "./support/child_program.ts";
import { exchange, RawConnection } from "./support/raw_connection.ts";
import { upgradeRequest } from "./support/raw_socket.ts";
import { SocketClient } from "./support/socket_client.ts";
import { TemporaryFolder } from "./support/temporary_folder.ts";

const PROGRAM = `
import { App } from "${CORE}";
const app = new App();
app.get("/", async () => "served");
app.get("/free", async () => {
  const files = [];
  try {
    for (;;) files.push(Deno.openSync("/dev/null"));
  } catch {
    for (const file of files) file.close();
    return files.length;
  }
});
app.websocket("/echo", async (socket) => {
  for await (const message of socket) await socket.send(message);
});
await app.run({ ...LISTEN, onListen: ({ port }) => console.log("port " + port) });
console.log("run resolved");
`;

const GET = "GET / HTTP/1.1\r\nHost: x\r\n\r\n";
const DESCRIPTORS = 80;
const WARNING = ".* WARN The limit of open files is reached: no connections are accepted until that ends";

/** Opens more connections than a process may have, and closes them again. */
async function flood(open: () => Promise<Deno.Conn>, whileFull: () => Promise<void>): Promise<void> {
  const attempts = await Promise.allSettled(Array.from({ length: DESCRIPTORS * 2 }, open));
  try {
    await whileFull();
  } finally {
    for (const attempt of attempts) if (attempt.status === "fulfilled") attempt.value.close();
  }
}

/** Retries until it succeeds. Connections are refused while nothing listens. */
async function eventually<T>(attempt: () => Promise<T>): Promise<T> {
  for (;;) {
    try {
      return await attempt();
    } catch {
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
  }
}

Deno.test({
  name: "When the file descriptors run out it serves the connections that it has, and accepts again when there is room",
  ignore: Deno.build.os === "windows",
  fn: async () => {
    await using child = await ChildProgram.start(PROGRAM.replace("LISTEN", "{ port: 0 }"), {
      descriptors: DESCRIPTORS,
    });
    const port = await child.port();
    using kept = await RawConnection.open(port);
    await using socket = await SocketClient.open(`http://127.0.0.1:${port}`, "/echo");
    const isServed = async () => {
      await kept.write(GET);
      assertEquals((await kept.reply()).body, '"served"');
      socket.send("a");
      assertEquals(await socket.next(), "a");
    };
    await isServed();
    for (let round = 0; round < 2; round++) {
      await flood(() => Deno.connect({ hostname: "127.0.0.1", port }), async () => {
        await child.printed(WARNING);
        await isServed();
      });
      assertEquals((await eventually(() => exchange(port, GET))).status, 200);
      await isServed();
    }
    child.signal("SIGTERM");
    const { code, stdout, stderr } = await child.end();
    assertEquals(code, 0);
    assert(stdout.endsWith("run resolved\n"), stdout);
    const lines = stderr.trimEnd().split("\n");
    for (const line of lines) assert(new RegExp(`^${WARNING}$`).test(line), line);
    const times = lines.map((line) => Date.parse(line.slice(0, line.indexOf(" "))));
    // It is logged once a second.
    for (const [index, time] of times.slice(1).entries()) assert(time - times[index]! >= 990, stderr);
  },
});

Deno.test({
  name: "When the file descriptors run out, some are left to the program, which may load a module with them",
  ignore: Deno.build.os === "windows",
  fn: async () => {
    await using child = await ChildProgram.start(PROGRAM.replace("LISTEN", "{ port: 0 }"), {
      descriptors: DESCRIPTORS,
    });
    const port = await child.port();
    using kept = await RawConnection.open(port);
    const free = async (): Promise<number> => {
      await kept.write(GET.replace("/", "/free"));
      return Number((await kept.reply()).body);
    };
    await free();
    for (let round = 1; round <= 2; round++) {
      await flood(() => Deno.connect({ hostname: "127.0.0.1", port }), async () => {
        await child.printed(Array(round).fill(WARNING).join("\n(?:.*\n)*"));
        const left = await free();
        assert(left >= 8, `${left} are left`);
      });
      await eventually(() => exchange(port, GET));
    }
    await flood(() => Deno.connect({ hostname: "127.0.0.1", port }), async () => {
      await kept.write(upgradeRequest("/echo"));
      assertEquals((await kept.reply(true)).status, 101);
    });
    child.signal("SIGTERM");
    assertEquals((await child.end()).code, 0);
  },
});

Deno.test({
  name: "At a Unix socket it accepts again, too",
  ignore: Deno.build.os === "windows",
  fn: async () => {
    await using folder = await TemporaryFolder.make();
    const path = folder.within("socket");
    const program = PROGRAM.replace("LISTEN", JSON.stringify({ path }));
    await using child = await ChildProgram.start(program, { descriptors: DESCRIPTORS });
    await child.port();
    const connect = () => Deno.connect({ transport: "unix", path });
    await flood(connect, () => child.printed(WARNING));
    (await eventually(connect)).close();
    child.signal("SIGTERM");
    assertEquals((await child.end()).code, 0);
  },
});
