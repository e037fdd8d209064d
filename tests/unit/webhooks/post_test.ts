// "The address checked when it is resolved, redirects not followed, 10 s, 64 KiB of an answer read."

import { assert, assertEquals, assertRejects } from "@std/assert";
import { post, type PostOptions } from "../../../src/webhooks/post.ts";

const OPTIONS: PostOptions = {
  ...{ headers: { "content-length": "2" }, body: "{}", signal: new AbortController().signal, allowPrivate: true },
  resolve: async () => ["127.0.0.1"],
};

/** A server of one answer, in bytes, that counts its connections. */
class RawServer implements AsyncDisposable {
  readonly requests: string[] = [];
  connections = 0;
  readonly #listener = Deno.listen({ port: 0, hostname: "127.0.0.1" });
  readonly #served: Promise<void>;
  readonly #open = new Set<Deno.Conn>();

  constructor(answer: string | undefined) {
    this.#served = this.#serve(answer);
  }

  url(host = "hooks.example"): URL {
    return new URL(`http://${host}:${this.#listener.addr.port}/a?b`);
  }

  async #serve(answer: string | undefined): Promise<void> {
    const open: Promise<void>[] = [];
    for await (const connection of this.#listener) {
      this.connections++;
      this.#open.add(connection);
      open.push(this.#answer(connection, answer));
    }
    await Promise.all(open);
  }

  async #answer(connection: Deno.Conn, answer: string | undefined): Promise<void> {
    const decoder = new TextDecoder();
    let text = "";
    let isAnswered = answer === undefined;
    try {
      for await (const chunk of connection.readable) {
        text += decoder.decode(chunk);
        if (isAnswered || !text.endsWith("{}")) continue;
        isAnswered = true;
        this.requests.push(text);
        await connection.write(new TextEncoder().encode(answer));
      }
    } catch {
      // The client has gone.
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#listener.close();
    for (const connection of this.#open) {
      try {
        connection.close();
      } catch {
        // Its stream has closed it.
      }
    }
    await this.#served;
  }
}

Deno.test("a name is resolved once, and the connection is to what was checked", async () => {
  await using server = new RawServer("HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok");
  let calls = 0;
  // The second answer would be another one, as a name server may do it.
  const resolve = async (host: string) => {
    assertEquals(host, "hooks.example");
    return ++calls === 1 ? ["127.0.0.1"] : ["127.0.0.2"];
  };
  const { status, body } = await post(server.url(), { ...OPTIONS, resolve });
  assertEquals([status, new TextDecoder().decode(body), calls], [200, "ok", 1]);
  const [line, ...headers] = server.requests[0]!.split("\r\n");
  assertEquals(line, "POST /a?b HTTP/1.1");
  assert(headers.includes(`host: ${server.url().host}`), `${headers}`);
  assert(headers.includes("connection: close"), `${headers}`);
});

Deno.test("without a public address nothing is connected", async () => {
  await using server = new RawServer("HTTP/1.1 200 OK\r\n\r\n");
  for (const address of ["127.0.0.1", "::ffff:127.0.0.1", "::1", "169.254.169.254"]) {
    const refused = post(server.url(), { ...OPTIONS, allowPrivate: false, resolve: async () => [address] });
    await assertRejects(() => refused, Error, "Cannot connect: hooks.example has no public address");
  }
  await assertRejects(() => post(server.url(), { ...OPTIONS, resolve: async () => [] }), Error, "has no address");
  assertEquals(server.connections, 0);
});

Deno.test("an address that refuses is followed by the next one, and a private one is left out", async () => {
  await using server = new RawServer("HTTP/1.1 204 No Content\r\n\r\n");
  // Nothing listens at the first.
  const resolve = async () => ["127.0.0.9", "127.0.0.1"];
  assertEquals((await post(server.url(), { ...OPTIONS, resolve })).status, 204);
  assertEquals(server.connections, 1);
});

Deno.test("redirects are not followed, and the status of an answer that is cut off counts", async () => {
  for (
    const [answer, status, text] of [
      ["HTTP/1.1 307 Moved\r\nlocation: /b\r\ncontent-length: 0\r\n\r\n", 307, ""],
      ["HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 201 Created\r\ncontent-length: 1\r\n\r\nx", 201, "x"],
      [`HTTP/1.1 200 OK\r\ncontent-length: 70000\r\n\r\n${"x".repeat(70_000)}`, 200, "x".repeat(65_536)],
    ] as const
  ) {
    await using server = new RawServer(answer);
    const { status: found, body } = await post(server.url(), OPTIONS);
    assertEquals([found, new TextDecoder().decode(body)], [status, text]);
    assertEquals(server.connections, 1);
  }
  await using server = new RawServer("HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\npart");
  const { status, body } = await post(server.url(), { ...OPTIONS, timeout: 300 });
  assertEquals([status, new TextDecoder().decode(body)], [200, "part"]);
});

Deno.test("an answer that is none is an error: silence, no HTTP, endless headers, an upgrade", async () => {
  await using silent = new RawServer(undefined);
  await assertRejects(() => post(silent.url(), { ...OPTIONS, timeout: 200 }), Error, "not answered within 0.2 seconds");
  const secure = new URL(silent.url().href.replace("http:", "https:"));
  await assertRejects(() => post(secure, { ...OPTIONS, timeout: 200 }), Error, "not answered within 0.2 seconds");
  const slowName = post(silent.url(), { ...OPTIONS, timeout: 50, resolve: () => new Promise(() => {}) });
  await assertRejects(() => slowName, Error, "not answered within 0.05 seconds");
  const answers = [
    "SSH-2.0-OpenSSH_9.6\r\n\r\n",
    `HTTP/1.1 200 OK\r\n${"x-a: b\r\n".repeat(20_000)}\r\n`,
    "HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: websocket\r\n\r\n",
  ];
  for (const answer of answers) {
    await using server = new RawServer(answer);
    await assertRejects(() => post(server.url(), { ...OPTIONS, timeout: 5_000 }), Error);
  }
});

Deno.test("the signal of a stop ends it with the reason of the stop", async () => {
  await using server = new RawServer(undefined);
  const controller = new AbortController();
  const posted = post(server.url(), { ...OPTIONS, signal: controller.signal });
  const reason = new DOMException("The application stops", "AbortError");
  controller.abort(reason);
  assertEquals(await posted.catch((error) => error), reason);
});
