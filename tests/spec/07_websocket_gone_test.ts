// Section 7 of the contract: a client that goes right after its handshake leaves nothing behind.

import { assert, assertEquals } from "@std/assert";
import { ChildProgram, CORE } from "./support/child_program.ts";
import { RawConnection } from "./support/raw_connection.ts";
import { upgradeRequest } from "./support/raw_socket.ts";

const HANDSHAKES = 40;

/** How many may slip through on a busy machine, where Deno hears of the client's end later. */
const TOLERANCE = 4;

const PROGRAM = `
import { App } from "${CORE}";
const app = new App();
app.get("/", async () => "served");
app.get("/descriptors", async () => [...Deno.readDirSync("/proc/self/fd")].length);
app.websocket("/chat", async (socket) => {
  for await (const message of socket) await socket.send(message);
});
await app.run({ port: 0, onListen: ({ port }) => console.log("port " + port) });
`;

/** Sends a handshake, and goes without waiting for the answer. */
async function goAfter(port: number, request: string, isReset: boolean): Promise<void> {
  const socket = await Deno.connect({ hostname: "127.0.0.1", port });
  await socket.write(new TextEncoder().encode(request));
  if (isReset) await reset(socket);
  socket.close();
}

/** Makes the next close a reset: unread bytes are left in the socket. */
async function reset(socket: Deno.Conn): Promise<void> {
  await socket.read(new Uint8Array(1));
}

const GET = "GET / HTTP/1.1\r\nHost: x\r\n\r\n";
const WAYS: Readonly<Record<string, { readonly request: string; readonly isReset: boolean }>> = {
  "it closes the connection": { request: upgradeRequest("/chat"), isReset: false },
  "it closes the connection after a GET and a pipelined handshake": {
    request: GET + upgradeRequest("/chat"),
    isReset: false,
  },
  "it resets the connection": { request: GET + upgradeRequest("/chat"), isReset: true },
};

for (const [way, { request, isReset }] of Object.entries(WAYS)) {
  Deno.test({
    name: `A client that goes right after its handshake leaks no file descriptor: ${way}`,
    ignore: Deno.build.os !== "linux",
    fn: async () => {
      await using child = await ChildProgram.start(PROGRAM);
      const port = await child.port();
      using asking = await RawConnection.open(port);
      const ask = async (path: string) => {
        await asking.write(`GET ${path} HTTP/1.1\r\nHost: x\r\n\r\n`);
        return Number((await asking.reply()).body);
      };
      // The module of WebSockets is loaded with the first one.
      await goAfter(port, upgradeRequest("/chat"), false);
      const before = await ask("/descriptors");
      for (let count = 0; count < HANDSHAKES; count++) await goAfter(port, request, isReset);
      let after = await ask("/descriptors");
      for (let look = 0; look < 1_000 && after > before; look++) after = await ask("/descriptors");
      assert(after <= before + TOLERANCE, `${before} descriptors before, ${after} after`);
      child.signal("SIGTERM");
      const { code, stderr } = await child.end();
      assertEquals([code, stderr], [0, ""]);
    },
  });
}
