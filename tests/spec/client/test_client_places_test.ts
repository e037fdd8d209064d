// Section 3 of the client's contract: where the requests of a `TestClient` go, and where they come
// from; and its crons.

import { App, dependency } from "@webfw/core";
import { TestClient, type TestClientOptions } from "@webfw/core/testing";
import { assertEquals, assertRejects, assertThrows } from "@std/assert";
import { CapturedLog } from "../support/captured_log.ts";

function echoing(): App {
  const app = new App();
  app.get("/{path...}", async (request) => request.url);
  app.get("/", async (request) => request.url);
  app.websocket("/socket", async (socket) => await socket.send("open"));
  return app;
}

Deno.test("An absolute URL below the base of a test client is taken as it is", async () => {
  const table: [base: string, url: string, sent: string][] = [
    ["http://localhost", "http://localhost/x?a=1", "http://localhost/x?a=1"],
    ["http://localhost", "HTTP://LOCALHOST:80/x", "http://localhost/x"],
    ["http://localhost", "http://localhost", "http://localhost/"],
    ["http://localhost", "/x", "http://localhost/x"],
    ["http://localhost/v1", "http://localhost/v1/x", "http://localhost/v1/x"],
    ["http://localhost/v1/", "http://localhost/v1/x", "http://localhost/v1/x"],
    ["http://localhost/v1", "http://localhost/v1?a=1", "http://localhost/v1?a=1"],
    ["http://localhost/v1", "/x", "http://localhost/v1/x"],
    ["http://localhost/v1", "?a=1", "http://localhost/v1?a=1"],
    ["https://shop.example:8443", "https://shop.example:8443/x", "https://shop.example:8443/x"],
  ];
  for (const [base, url, sent] of table) {
    await using client = new TestClient(echoing(), { base });
    assertEquals(await (await client.get(url)).json(), sent, `${base} ${url}`);
  }
  await using client = new TestClient(echoing());
  await using socket = await client.websocket("ws://localhost/socket");
  assertEquals(await socket.receive(), "open");
});

Deno.test("A URL of another place is an error of the test, not a request", async () => {
  const table: [base: string, url: string][] = [
    ["http://localhost", "http://evil.example/x"],
    ["http://localhost", "https://localhost/x"],
    ["http://localhost", "http://localhost:8000/x"],
    ["http://localhost", "http://localhost.evil.example/x"],
    ["http://localhost", "mailto:a@example.com"],
    ["http://localhost", "x"],
    ["http://localhost/v1", "http://localhost/x"],
    ["http://localhost/v1", "http://localhost/v10/x"],
    ["http://localhost/v1", "http://localhost/v1/../x"],
  ];
  for (const [base, url] of table) {
    await using client = new TestClient(echoing(), { base });
    for (const send of [() => client.get(url), () => client.events(url), () => client.websocket(url)]) {
      assertThrows(send, TypeError, `it is not below ${base}`, `${base} ${url}`);
    }
  }
});

Deno.test("The address of a test client is that of request.remoteAddress", async () => {
  const app = new App({ trustProxy: ["203.0.113.7"] });
  app.get("/", async (request) => request.remoteAddress);
  const ask = async (options: TestClientOptions, headers: HeadersInit = {}) => {
    await using client = new TestClient(app, options);
    return await (await client.get("/", { headers })).json();
  };
  assertEquals(await ask({}), null);
  assertEquals(await ask({ address: "198.51.100.1" }), "198.51.100.1");
  assertEquals(await ask({ address: "2001:DB8::1" }), "2001:db8::1");
  const forwarded = { "x-forwarded-for": "192.0.2.9" };
  assertEquals(await ask({ address: "203.0.113.7" }, forwarded), "192.0.2.9");
  assertEquals(await ask({ address: "198.51.100.1" }, forwarded), "198.51.100.1");
  for (const address of ["", "localhost", "1.2.3", 5]) {
    assertThrows(() => new TestClient(app, { address: address as string }), TypeError, "must be an IP address");
  }
});

Deno.test("Limits by the address count the requests of a test client that has one, also with replaced dependencies", async () => {
  const value = dependency(async () => "real");
  const app = new App();
  app.post("/", { deps: { value }, rateLimit: { limit: 1, per: "1h" } }, async (request, { value }) => {
    return [value, await request.json()];
  });
  const options: TestClientOptions = { address: "198.51.100.1", override: [[value, async () => "fake"]] };
  for (const given of [options, { address: "198.51.100.1" }, {}]) {
    await using client = new TestClient(app, given);
    const statuses = [(await client.post("/", { json: 1 })).status, (await client.post("/", { json: 1 })).status];
    assertEquals(statuses, "address" in given ? [200, 429] : [200, 200]);
  }
});

Deno.test("A test client runs a cron at once, with the state of the application, and waits for its end", async () => {
  const app = new App<{ prefix: string }>({ log: () => {} });
  app.lifespan(async function* () {
    yield { prefix: "ran" };
  });
  const ran: unknown[] = [];
  app.cron("report", "0 0 1 1 *", async ({ state, scheduled, signal, log, app: handle }) => {
    await Promise.resolve();
    log.info("Reporting");
    ran.push(state.prefix, scheduled instanceof Date, signal.aborted, typeof handle.records.get);
  });
  app.cron("broken", "0 0 1 1 *", async () => {
    throw new RangeError("no report");
  });
  app.cron("returned", "0 0 1 1 *", async () => new RangeError("no report"));
  await using client = new TestClient(app);
  await client.runCron("report");
  assertEquals(ran, ["ran", true, false, "function"]);
  await client.runCron("report");
  assertEquals(ran.length, 8);
  await assertRejects(() => client.runCron("broken"), RangeError, "no report");
  await assertRejects(() => client.runCron("returned"), RangeError, "no report");
  await assertRejects(
    () => client.runCron("reports"),
    TypeError,
    'Cannot run the cron "reports": there is none of this name, declared are: "report", "broken", "returned"',
  );
  await using other = new TestClient({ fetch: async () => new Response() });
  await assertRejects(() => other.runCron("report"), TypeError, "must test an App");
});

Deno.test("The signal of a cron that a test runs is aborted when the application stops", async () => {
  using _log = new CapturedLog();
  const app = new App();
  const begun = Promise.withResolvers<AbortSignal>();
  app.cron("endless", "0 0 1 1 *", async ({ signal }) => {
    begun.resolve(signal);
    await new Promise((resolve) => signal.addEventListener("abort", resolve));
  });
  const client = new TestClient(app);
  const running = client.runCron("endless");
  await begun.promise;
  await client.close();
  await running;
});

Deno.test("The last client of an application stops it, and not the first one that is closed", async () => {
  const app = new App();
  const notes: string[] = [];
  app.lifespan(async function* () {
    notes.push("start");
    yield {};
    notes.push("stop");
  });
  app.get("/", async () => "Hello");
  {
    await using _unused = new TestClient(app);
    await using client = new TestClient(app);
    await client.get("/");
    {
      await using guest = new TestClient(app);
      await guest.get("/");
    }
    assertEquals((await client.get("/")).status, 200);
    assertEquals(notes, ["start"]);
  }
  assertEquals(notes, ["start", "stop"]);
});
