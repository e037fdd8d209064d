// How a database on the network is opened, again and again.

import { assertEquals, assertRejects } from "@std/assert";
import { CannotOpenError } from "../../../../src/topics/cannot_open_error.ts";
import { openerOf } from "../../../../src/topics/kv/open_store.ts";

Deno.test("An address without a database is final, until there was one: from then on it is waited for", async () => {
  const access = {
    version: 3,
    databaseId: "00000000-0000-4000-8000-000000000000",
    endpoints: [{ url: "/", consistency: "strong" }],
    token: "access",
    expiresAt: "2100-01-01T00:00:00Z",
  };
  const isThere = [false, true, false, true];
  const answer = () => isThere.shift() ? Response.json(access) : new Response(null, { status: 404 });
  await using server = Deno.serve({ port: 0, hostname: "127.0.0.1", onListen: () => {} }, answer);
  const open = openerOf({ url: new URL(`http://127.0.0.1:${server.addr.port}/`), token: "token" });
  const { signal } = new AbortController();
  await assertRejects(() => open(signal), CannotOpenError, "there is no KV Connect at this address");
  (await open(signal)).close();
  const error = await assertRejects(() => open(signal), Error, "status 404");
  assertEquals(error instanceof CannotOpenError, false);
  (await open(signal)).close();
});
