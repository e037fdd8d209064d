// How the client deals with servers that move, refuse, or send parts; tests/denokv has it with the
// real one.

import { assertEquals, assertMatch, assertRejects } from "@std/assert";
import { Relay } from "../../../support/relay.ts";
import { CannotOpenError } from "../../../../src/store/topic_store.ts";
import { NetworkClient } from "../../../../src/store/kv/network_client.ts";
import { packKey } from "../../../../src/store/kv/npm_client.ts";
import { ChildProgram } from "../../../spec/support/child_program.ts";
import { makeCertificate } from "../../../support/certificate.ts";
import { decodeMessage, encodeMessage, type Field } from "../../support/protobuf.ts";

const VERSION = "00000000000000000100";
const HOUR = 3_600_000;

/** The behaviour of a server. */
interface Behaviour {
  /** How long an access lasts, in milliseconds. */
  readonly lifetime?: number;
  /** Replaces the reply of the exchange. */
  readonly exchange?: (access: Response) => Response | undefined;
  readonly answer: (action: string, request: Request) => Response | Promise<Response>;
}

function test(title: string, behaviour: () => Behaviour, body: (client: Opened) => Promise<void>): void {
  Deno.test(`A client of a database: ${title}`, async () => {
    const { lifetime = HOUR, exchange, answer } = behaviour();
    const accesses = { count: 0 };
    await using server = Deno.serve({ port: 0, hostname: "127.0.0.1", onListen: () => {} }, async (request) => {
      const { pathname } = new URL(request.url);
      if (pathname !== "/db") return await answer(pathname, request);
      const token = request.headers.get("authorization");
      accesses.count++;
      const access = Response.json({
        version: 3,
        databaseId: "00000000-0000-4000-8000-000000000000",
        endpoints: [{ url: "/far", consistency: "eventual" }, { url: "/near", consistency: "strong" }],
        token: `${token} for ${accesses.count}`,
        expiresAt: new Date(Date.now() + lifetime).toISOString(),
      });
      return exchange?.(access) ?? access;
    });
    const url = new URL(`http://127.0.0.1:${server.addr.port}/db?secret`);
    const clients: NetworkClient[] = [];
    const open = async () => {
      const client = await NetworkClient.open(url, "token");
      clients.push(client);
      return client;
    };
    await body({ open, accesses });
    for (const client of clients) client.close();
  });
}

interface Opened {
  readonly open: () => Promise<NetworkClient>;
  readonly accesses: { readonly count: number };
}

/**
 * How far the clock of the server is ahead, in milliseconds; `NaN` for a server that sends no date.
 */
let ahead = 0;

/** How far the clock of the server is ahead in the eyes of the client. */
function hoursAhead(client: NetworkClient): number {
  return Math.round((client.now() - Date.now()) / HOUR) + 0;
}

function withDate(response: Response): Response {
  const time = Number.isNaN(ahead) ? "none" : new Date(Date.now() + ahead).toUTCString();
  response.headers.set("date", time);
  return response;
}

function reply(body: Uint8Array<ArrayBuffer>): Response {
  return new Response(body, { headers: { "content-type": "application/x-protobuf" } });
}

function written(status: number): Response {
  return reply(encodeMessage([[1, status], [2, Uint8Array.fromHex(VERSION)]]));
}

/** A description that a client can use. */
const DESCRIPTION = {
  version: 3,
  databaseId: "00000000-0000-4000-8000-000000000000",
  endpoints: [{ url: "/near/", consistency: "strong" }],
  token: "secret",
  expiresAt: "9999-12-31T23:59:59Z",
};

test(
  "can use a description whose address ends with a slash, and whose access does not end",
  () => ({
    exchange: () => Response.json(DESCRIPTION),
    answer: (action) => action === "/near/atomic_write" ? written(1) : new Response(null, { status: 500 }),
  }),
  async ({ open, accesses }) => {
    const client = await open();
    for (let round = 0; round < 3; round++) assertEquals(await client.write({}), VERSION);
    assertEquals(accesses.count, 1);
    client.close();
  },
);

test(
  "sends requests to the endpoint of strong reads, with its access token",
  () => ({
    answer: (action, request) => {
      const { headers } = request;
      const isRight = action === "/near/atomic_write" && headers.get("x-denokv-version") === "3" &&
        headers.get("authorization") === "Bearer Bearer token for 1";
      return isRight ? written(1) : new Response(null, { status: 500 });
    },
  }),
  async ({ open, accesses }) => {
    const client = await open();
    for (let round = 0; round < 3; round++) assertEquals(await client.write({}), VERSION);
    assertEquals(accesses.count, 1);
  },
);

test(
  "exchanges the token again before its access ends",
  () => ({ lifetime: 60_000, answer: () => written(2) }),
  async ({ open, accesses }) => {
    const client = await open();
    assertEquals(await client.write({}), undefined);
    assertEquals(accesses.count, 2);
  },
);

test(
  "exchanges the token again after a refusal, which is an error",
  () => {
    const answers = [new Response("secret", { status: 401 }), written(5), written(1)];
    return { answer: () => answers.shift()! };
  },
  async ({ open, accesses }) => {
    const client = await open();
    await assertRejects(() => client.write({}), Error, "status 401");
    await assertRejects(() => client.write({}), Error, "served elsewhere");
    assertEquals(await client.write({}), VERSION);
    assertEquals(accesses.count, 3);
  },
);

test(
  "refuses a read that is not consistent, or is disabled",
  () => {
    const disabled: Field[][] = [[], [[4, 0]], [[4, 1], [2, 1]], [[4, 1], [8, 2]]];
    // The package reads twice before it fails.
    const answers = [...disabled.flatMap((answer) => [answer, answer]), [[1, new Uint8Array()], [4, 1]] as Field[]];
    return { answer: () => reply(encodeMessage(answers.shift()!)) };
  },
  async ({ open }) => {
    const client = await open();
    for (let round = 0; round < 4; round++) {
      await assertRejects(() => client.get([["a"]]), Error, "response checks failed");
    }
    assertEquals(await client.get([["a"]]), [undefined]);
  },
);

test(
  "refuses an entry that others have written, and names its key",
  () => ({
    answer: () => {
      const entry = encodeMessage([[1, packKey(["a", "b"])], [2, new Uint8Array()], [3, 1]]);
      return reply(encodeMessage([[1, encodeMessage([[1, entry]])], [4, 1]]));
    },
  }),
  async ({ open }) => {
    const client = await open();
    await assertRejects(() => client.get([["a", "b"]]), TypeError, 'something else has written the key "a b"');
  },
);

test(
  "yields changes, however they are cut into parts, and fails at their end",
  () => ({
    answer: () => {
      const entry = (text: string) =>
        encodeMessage([
          [1, packKey([text])],
          [2, new TextEncoder().encode(text)],
          [3, 3],
          [4, Uint8Array.fromHex(VERSION)],
        ]);
      const changes: Field[][] = [
        [[2, encodeMessage([[1, 1]])], [2, encodeMessage([[1, 1], [2, entry("b")]])]],
        [[2, encodeMessage([[1, 1], [2, entry("a")]])], [2, encodeMessage([])]],
      ];
      const messages = changes.map((keys) => encodeMessage([[1, 1], ...keys]));
      const body = [new Uint8Array(), ...messages].flatMap((message) => {
        const length = new Uint8Array(4);
        new DataView(length.buffer).setUint32(0, message.length, true);
        return [...length, ...message];
      });
      return new Response(ReadableStream.from(body.map((byte) => new Uint8Array([byte]))));
    },
  }),
  async ({ open }) => {
    const client = await open();
    const watch = client.watch([["a"], ["b"]]);
    const changes = [(await watch.next()).value, (await watch.next()).value];
    await assertRejects(() => watch.next(), Error, "The database has ended the watch");
    client.close();
    const b = { key: ["b"], value: new TextEncoder().encode("b"), version: VERSION };
    const a = { key: ["a"], value: new TextEncoder().encode("a"), version: VERSION };
    assertEquals(changes, [[undefined, b], [a, b]]);
  },
);

test(
  "abandons its requests when it is closed",
  () => ({ answer: () => new Response(new ReadableStream({ start: (stream) => stream.enqueue(new Uint8Array(4)) })) }),
  async ({ open }) => {
    const client = await open();
    const watching = assertRejects(() => client.watch([["a"]]).next(), Error, "closed");
    client.close();
    await watching;
    await assertRejects(() => client.write({}), Error, "closed");
  },
);

for (const status of [400, 401, 403]) {
  test(
    `cannot be opened where the token is refused with ${status}`,
    () => ({ exchange: () => new Response("secret", { status }), answer: () => written(1) }),
    async ({ open }) => {
      const error = await assertRejects(() => open(), CannotOpenError, "it refuses the token");
      assertEquals(error.message.includes("secret"), false);
    },
  );
}

for (const status of [404, 405, 410, 501]) {
  const absent = () => new Response("secret", { status });
  test(
    `cannot be opened if a server replies ${status}`,
    () => ({ exchange: absent, answer: () => written(1) }),
    async ({ open }) => {
      const error = await assertRejects(
        () => open(),
        CannotOpenError,
        "there is no KV Connect at this address, give that of",
      );
      assertEquals(error.message.includes("secret"), false);
    },
  );
}

for (
  const [what, description] of [
    ["no JSON", "secret"],
    ["nothing", "null"],
    ["no endpoint", JSON.stringify({ endpoints: [] })],
    [
      "an address that is none",
      JSON.stringify({ endpoints: [{ url: "http://secret:secret", consistency: "strong" }] }),
    ],
    [
      "a token that no header takes",
      JSON.stringify({ ...DESCRIPTION, token: "secret\nsecret" }),
    ],
    ["a token that is no text", JSON.stringify({ ...DESCRIPTION, token: ["secret"] })],
    ["an empty token", JSON.stringify({ ...DESCRIPTION, token: "" })],
    ["a version that is not known", JSON.stringify({ ...DESCRIPTION, version: 4 })],
    ["an id that is none", JSON.stringify({ ...DESCRIPTION, databaseId: "secret" })],
    ["an end that is no time", JSON.stringify({ ...DESCRIPTION, expiresAt: "secret" })],
    [
      "an address that is not for HTTP",
      JSON.stringify({ ...DESCRIPTION, endpoints: [{ url: "ftp://127.0.0.1/secret", consistency: "strong" }] }),
    ],
  ] as const
) {
  test(
    `does not repeat the reply of a server whose description is ${what}`,
    () => ({ exchange: () => new Response(description), answer: () => written(1) }),
    async ({ open }) => {
      const error = await assertRejects(() => open(), CannotOpenError, "there is no KV Connect at this address");
      assertEquals(error.message.includes("secret"), false);
    },
  );
}

Deno.test("A client of a database does not repeat a token that no header takes", async () => {
  const url = new URL("http://127.0.0.1:1/db?secret");
  const error = await assertRejects(() => NetworkClient.open(url, "secret\nsecret"), CannotOpenError);
  assertEquals(
    error.message,
    'Cannot open the store of topics "http://127.0.0.1:1/db": the token cannot be sent, give the one that it was started with',
  );
});

/** The server's description, if it is not the right one. */
let maintenance: string | undefined;

test(
  "takes a description that it cannot read for an outage, once it has read one",
  () => ({
    lifetime: 0,
    exchange: () => maintenance === undefined ? undefined : new Response(maintenance),
    answer: () => written(1),
  }),
  async ({ open }) => {
    maintenance = undefined;
    const client = await open();
    maintenance = "<h1>Back soon</h1>";
    const error = await assertRejects(() => client.write({ sets: [] }), Error, "The database does not describe itself");
    assertEquals(error instanceof CannotOpenError, false);
    client.close();
  },
);

Deno.test("The client of a reopened database uses no old connection, which may be dead", async () => {
  const ports = new Set<number>();
  await using server = Deno.serve({ port: 0, hostname: "127.0.0.1", onListen: () => {} }, (_, { remoteAddr }) => {
    ports.add(remoteAddr.port);
    return new Response(null, { status: 503 });
  });
  const url = new URL(`http://127.0.0.1:${server.addr.port}/db`);
  for (let times = 0; times < 3; times++) await assertRejects(() => NetworkClient.open(url, "token"), Error, "503");
  assertEquals(ports.size, 3);
});

Deno.test("A client uses shared connections if the platform allows no own ones", async () => {
  const original = Object.getOwnPropertyDescriptor(Deno, "createHttpClient")!;
  await using server = Deno.serve({ port: 0, hostname: "127.0.0.1", onListen: () => {} }, () => {
    return new Response(null, { status: 404 });
  });
  const url = new URL(`http://127.0.0.1:${server.addr.port}/db`);
  Reflect.deleteProperty(Deno, "createHttpClient");
  try {
    await assertRejects(() => NetworkClient.open(url, "token"), CannotOpenError, "there is no KV Connect");
  } finally {
    Object.defineProperty(Deno, "createHttpClient", original);
  }
});

Deno.test("A client of a database says why no server answers, without the address", async () => {
  const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const { port } = listener.addr;
  listener.close();
  const url = new URL(`http://127.0.0.1:${port}/db?secret=):%20secret for url (secret): secret`);
  const error = await assertRejects(() => NetworkClient.open(url, "token"), Error);
  assertMatch(error.message, /^error sending request: client error \(Connect\): .*refused/);
  assertEquals(error.message.includes("secret"), false);
});

Deno.test("A client reports that a server does not speak TLS, and the right address", async () => {
  await using server = Deno.serve({ port: 0, hostname: "127.0.0.1", onListen: () => {} }, () => new Response());
  const url = new URL(`https://127.0.0.1:${server.addr.port}/db?secret`);
  const error = await assertRejects(() => NetworkClient.open(url, "token"), CannotOpenError);
  assertEquals(
    error.message,
    `Cannot open the store of topics "https://127.0.0.1:${server.addr.port}/db": ` +
      "the server does not speak TLS, give its address with http://",
  );
});

Deno.test("A client reports that a server speaks TLS, and the right address", async () => {
  using listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const url = new URL(`http://127.0.0.1:${listener.addr.port}/db?secret`);
  const opening = assertRejects(() => NetworkClient.open(url, "token"), CannotOpenError);
  using connection = await listener.accept();
  await connection.read(new Uint8Array(1024));
  // The alert of a TLS server for bytes that are not TLS: record type, version, length, fatal,
  // decode error.
  await connection.write(new Uint8Array([21, 3, 3, 0, 2, 2, 50]));
  const { message } = await opening;
  const place = `http://127.0.0.1:${listener.addr.port}/db`;
  const reason = "the server does not speak HTTP without TLS, give its address with https://";
  assertEquals(message, `Cannot open the store of topics "${place}": ${reason}`);
});

Deno.test("A client of a database says why a connection broke, without the address", async () => {
  using listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const url = new URL(`http://127.0.0.1:${listener.addr.port}/db?secret=):%20secret for url (secret): secret`);
  const opening = assertRejects(() => NetworkClient.open(url, "token"), Error);
  const connection = await listener.accept();
  await connection.read(new Uint8Array(1024));
  connection.close();
  const error = await opening;
  assertMatch(error.message, /^error sending request: client error \(SendRequest\)/);
  assertEquals(error.message.includes("secret"), false);
});

test(
  "counts expiry by the clock of the database",
  () => ({
    lifetime: 0,
    exchange: (access) => withDate(access),
    answer: async (_, request) => {
      const [, mutation] = [...decodeMessage(await request.bytes())].find(([field]) => field === 2)!;
      const [, expiresAt] = [...decodeMessage(mutation as Uint8Array)].find(([field]) => field === 4)!;
      const hours = Math.round((expiresAt as number - Date.now()) / HOUR);
      return withDate(reply(encodeMessage([[1, 1], [2, new Uint8Array([0, 0, 0, 0, 0, 0, 0, 0, 0, hours])]])));
    },
  }),
  async ({ open }) => {
    ahead = 0;
    const client = await open();
    assertEquals(hoursAhead(client), 0);
    const write = { sets: [{ key: ["a"], value: new Uint8Array(), expireIn: 3 * HOUR }] };
    const hours: number[] = [];
    // One of the two may be set while the other is asked.
    for (ahead of [HOUR, -HOUR, NaN]) {
      await client.write(write);
      hours.push(parseInt((await client.write(write))!, 16), hoursAhead(client));
    }
    assertEquals(hours, [4, 1, 2, -1, 2, -1]);
    client.close();
  },
);

test(
  "is opened when the server has come back",
  () => {
    const answers = [new Response(null, { status: 503 }), undefined];
    return { exchange: () => answers.shift(), answer: () => written(1) };
  },
  async ({ open }) => {
    await assertRejects(() => open(), Error, "status 503");
    assertEquals(await (await open()).write({}), VERSION);
  },
);

test(
  "does not repeat the page of a proxy that answers instead of the database",
  () => ({ answer: () => new Response("secret", { headers: { "content-type": "text/html" } }) }),
  async ({ open }) => {
    const client = await open();
    for (const ask of [() => client.write({}), () => client.get([["a"]]), () => client.watch([["a"]]).next()]) {
      const error = await assertRejects(ask, Error);
      assertEquals(String(error).includes("secret"), false);
    }
    client.close();
  },
);

/** The last request of the client. */
let asked: Field[] = [];

test(
  "asks for one key alone, also where that is absent and another one follows",
  () => ({
    answer: async (_, request) => {
      asked = decodeMessage(await request.bytes());
      return reply(encodeMessage([[1, new Uint8Array()], [4, 1]]));
    },
  }),
  async ({ open }) => {
    const client = await open();
    await client.get([["a"]]);
    const [[, range]] = asked as [Field];
    const [[, start], [, end], [, limit]] = decodeMessage(range as Uint8Array) as [Field, Field, Field];
    assertEquals([start, end, limit], [packKey(["a"]), new Uint8Array([...packKey(["a"]), 0]), 1]);
    client.close();
  },
);

test(
  "judges the end of its access by the clock of the database",
  () => ({ lifetime: -HOUR / 2, exchange: (access) => withDate(access), answer: () => withDate(written(1)) }),
  async ({ open, accesses }) => {
    ahead = -HOUR;
    const client = await open();
    for (let round = 0; round < 3; round++) assertEquals(await client.write({}), VERSION);
    assertEquals(accesses.count, 1);
    client.close();
  },
);

/** A client behind TLS. It trusts the certificates of its process, so it has its own process. */
const CLIENT = new URL("../../../../src/store/kv/network_client.ts", import.meta.url).href;
const ENTRY = { key: ["a"], value: "new Uint8Array(8 * 1024)" };
const WRITES = 10;

const PROGRAM = `
  import { NetworkClient } from "${CLIENT}";
  const client = await NetworkClient.open(new URL(Deno.env.get("DATABASE")), "token");
  const write = { sets: [{ key: ${JSON.stringify(ENTRY.key)}, value: ${ENTRY.value} }] };
  for (let count = 0; count < ${WRITES}; count++) await client.write(write);
  console.log("written");
  client.close();
`;

const certificate = await makeCertificate();

Deno.test({
  name: "A client of a database behind TLS speaks HTTP/1.1, over one connection for what it asks one after another",
  // The test is ignored on a machine without openssl, unless all tests are required.
  ignore: certificate === undefined && Deno.env.get("WEBFW_REQUIRE_ALL") !== "1",
  fn: async () => {
    let writes = 0;
    await using server = Deno.serve({ port: 0, hostname: "127.0.0.1", onListen: () => {} }, async (request) => {
      if (new URL(request.url).pathname === "/db") {
        return Response.json({
          version: 3,
          databaseId: "00000000-0000-4000-8000-000000000000",
          endpoints: [{ url: "/near", consistency: "strong" }],
          token: "access",
          expiresAt: new Date(Date.now() + 3_600_000).toISOString(),
        });
      }
      await request.bytes();
      writes++;
      return reply(encodeMessage([[1, 1], [2, new Uint8Array(10)]]));
    });
    using front = new Relay(server.addr.port, { certificate });
    const trusted = await Deno.makeTempFile({ prefix: "webfw_tls_", suffix: ".pem" });
    try {
      await Deno.writeTextFile(trusted, certificate!.cert);
      const env = { DENO_CERT: trusted, DATABASE: `https://127.0.0.1:${front.port}/db` };
      await using program = await ChildProgram.start(PROGRAM, { env });
      const { code, stdout, stderr } = await program.end();
      assertEquals([code, stdout, stderr], [0, "written\n", ""]);
    } finally {
      await Deno.remove(trusted);
    }
    assertEquals([front.protocols, writes], [["http/1.1"], WRITES]);
  },
});
