// Section 7 of the contract: a client that goes right after its handshake leaves nothing behind.

import { assert, assertEquals } from "@std/assert";
import { ChildProgram, CORE } from "./support/child_program.ts";
import { RawConnection } from "./support/raw_connection.ts";
import { upgradeRequest } from "./support/raw_socket.ts";

const HANDSHAKES = 40;

const GET = "GET / HTTP/1.1\r\nHost: x\r\n\r\n";

/** The clients are in the process of the server, so that a busy machine does not separate them. */
const PROGRAM = `
import { App } from "${CORE}";
let resetting;
const app = new App({
  log: ({ level, message }) => {
    if (level !== "info") console.error(message);
    // The platform has made the socket, and not written the 101 yet. Unread bytes make this a reset.
    if (message.startsWith("GET /chat 101")) {
      resetting?.close();
      resetting = undefined;
    }
  },
});
app.get("/", async () => "served");
app.get("/descriptors", async () => [...Deno.readDirSync("/proc/self/fd")].length);
app.websocket("/chat", async (socket) => {
  for await (const message of socket) await socket.send(message);
});
const connect = async (request, text) => {
  const connection = await Deno.connect({ hostname: "127.0.0.1", port: Number(request.url.port) });
  await connection.write(new TextEncoder().encode(text));
  return connection;
};
app.post("/go", async (request) => {
  (await connect(request, await request.text())).close();
});
app.post("/lose", async (request) => {
  resetting = await connect(request, await request.text());
});
app.get("/is-lost", async () => resetting === undefined);
await app.run({ port: 0, accessLog: true, gracePeriod: "1s", onListen: ({ port }) => console.log("port " + port) });
`;

/** Sends requests to the program over one connection. */
class Asking implements Disposable {
  readonly #connection: RawConnection;

  constructor(connection: RawConnection) {
    this.#connection = connection;
  }

  [Symbol.dispose](): void {
    this.#connection[Symbol.dispose]();
  }

  async get(path: string): Promise<unknown> {
    await this.#connection.write(`GET ${path} HTTP/1.1\r\nHost: x\r\n\r\n`);
    return JSON.parse((await this.#connection.reply()).body);
  }

  async post(path: string, port: number, body: string): Promise<void> {
    await this.#connection.write(
      `POST ${path} HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
    );
    await this.#connection.reply();
  }

  /** The number of open descriptors, once it is no more than expected or stays larger. */
  async descriptors(expected: number): Promise<number> {
    let open = Number(await this.get("/descriptors"));
    for (let look = 0; look < 1_000 && open > expected; look++) open = Number(await this.get("/descriptors"));
    return open;
  }
}

const WAYS: Readonly<Record<string, string>> = {
  "it closes the connection": upgradeRequest("/chat"),
  "it resets the connection": GET + upgradeRequest("/chat"),
};

for (const [way, request] of Object.entries(WAYS)) {
  Deno.test({
    name: `A client that goes right after its handshake leaks no file descriptor: ${way}`,
    ignore: Deno.build.os !== "linux",
    fn: async () => {
      await using child = await ChildProgram.start(PROGRAM);
      const port = await child.port();
      using asking = new Asking(await RawConnection.open(port));
      // The module of WebSockets is loaded with the first one.
      await asking.post("/go", port, upgradeRequest("/chat"));
      const before = await asking.descriptors(Infinity);
      for (let count = 0; count < HANDSHAKES; count++) await asking.post("/go", port, request);
      const after = await asking.descriptors(before);
      assert(after <= before, `${before} descriptors before, ${after} after`);
      child.signal("SIGTERM");
      const { code, stderr } = await child.end();
      assertEquals([code, stderr], [0, ""]);
    },
  });
}

Deno.test("A stop says nothing of a client that reset its connection while the 101 was written", async () => {
  await using child = await ChildProgram.start(PROGRAM);
  const port = await child.port();
  {
    using asking = new Asking(await RawConnection.open(port));
    await asking.post("/lose", port, GET + upgradeRequest("/chat"));
    while (!await asking.get("/is-lost"));
  }
  child.signal("SIGTERM");
  const { code, stderr } = await child.end();
  assertEquals([code, stderr], [0, ""]);
});
