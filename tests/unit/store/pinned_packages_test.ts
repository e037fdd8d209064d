// Three packages are used by parts that they do not promise to keep, so their versions are exact: a
// new version is a change of this repository, which these tests examine.

import { assertEquals, assertMatch } from "@std/assert";
import { PACKAGE as NATS } from "../../../src/store/jetstream/nats_client.ts";
import { PACKAGE as KV } from "../../../src/store/kv/npm_client.ts";
import { PACKAGE as PG } from "../../../src/store/sql/pg_client.ts";

for (const specifier of [KV, NATS, PG]) {
  Deno.test(`${specifier} has an exact version`, () => {
    assertMatch(specifier, /^npm:(?:@[a-z-]+\/)?[a-z-]+@\d+\.\d+\.\d+$/);
  });
}

/** What kind of value each of some members is. */
function kindsOf(owner: object, names: readonly string[]): Record<string, string> {
  return Object.fromEntries(names.map((name) => [name, typeof Reflect.get(owner, name)]));
}

Deno.test("The client of Deno KV has the methods for messages, its sender and its access", async () => {
  const { makeRemoteService, makeNapiBasedService } = await import(KV);
  assertEquals(typeof makeNapiBasedService, "function");
  const access = {
    version: 3,
    databaseId: crypto.randomUUID(),
    token: "access",
    expiresAt: new Date(Date.now() + 3_600_000).toISOString(),
    endpoints: [{ url: "http://localhost/", consistency: "strong" }],
  };
  const fetcher = () =>
    Promise.resolve({
      ok: true,
      status: 200,
      url: "http://localhost/",
      headers: { get: () => "application/json" },
      json: () => Promise.resolve(access),
    });
  const codec = { encodeV8: () => new Uint8Array(), decodeV8: () => undefined };
  const service = makeRemoteService({ ...codec, accessToken: "token", supportedVersions: [3], maxRetries: 0, fetcher });
  const kv = await service.openKv("http://localhost/");
  assertEquals(kindsOf(kv, ["snapshotRead", "atomicWrite", "watch", "close", "fetcher", "metadata"]), {
    snapshotRead: "function",
    atomicWrite: "function",
    watch: "function",
    close: "function",
    fetcher: "function",
    metadata: "object",
  });
  kv.close();
});

Deno.test("The client of NATS makes a connection over a socket of one's own", async () => {
  const nats = await import(`${NATS}/internal`);
  const names = ["setTransportFactory", "checkOptions", "headers", "createInbox", "credsAuthenticator"];
  assertEquals(kindsOf(nats, names), Object.fromEntries(names.map((name) => [name, "function"])));
  assertEquals(typeof nats.NatsConnectionImpl.connect, "function");
});

Deno.test("The client of PostgreSQL has a stream to destroy, and parameters to take back", async () => {
  const { Client } = await import(PG);
  const client = new Client({ binary: true, replication: "none", options: "-c jit=off" });
  assertEquals(client.binary, true);
  assertEquals(kindsOf(client.connectionParameters, ["replication", "options"]), {
    replication: "string",
    options: "string",
  });
  client.connectionParameters.replication = client.connectionParameters.options = undefined;
  assertEquals(kindsOf(client.getStartupConf(), ["replication", "options"]), {
    replication: "undefined",
    options: "undefined",
  });
  assertEquals(typeof client.connection.stream.destroy, "function");
});
