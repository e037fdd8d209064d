// "apiKey(async (key) => …, { in, name }): header, query or cookie".

import { assertEquals, assertStringIncludes, assertThrows } from "@std/assert";
import { App, HTTPError } from "@webfw/core";
import { apiKey, type ApiKeyOptions } from "@webfw/core/auth";
import { CapturedLog } from "../support/captured_log.ts";
import { exchange } from "../support/raw_connection.ts";
import { Serving } from "../support/serving.ts";

/** An application that answers with the key of each request. */
function echoing(options: ApiKeyOptions): App {
  const partner = apiKey(async (key) => key === "wrong" ? undefined : { key }, options);
  const app = new App();
  app.get("/", { deps: { partner } }, async (_request, { partner }) => partner.key);
  return app;
}

const apps = {
  header: echoing({ in: "header", name: "X-Api-Key" }),
  query: echoing({ in: "query", name: "api key" }),
  cookie: echoing({ in: "cookie", name: "key" }),
};

const MISSING = {
  header: "Send a key in the header X-Api-Key",
  query: "Send a key once in the query, as api key",
  cookie: "Send a key in the cookie key",
};

/** A request with these values of a header, in the query, or in a cookie. */
function sending(source: keyof typeof apps, ...values: string[]): Request {
  if (source === "query") {
    const query = new URLSearchParams(values.map((value) => ["api key", value]));
    return new Request(`http://localhost/?other=1&${query}`);
  }
  const headers = new Headers();
  for (const value of values) {
    if (source === "header") headers.append("x-api-key", value);
    else headers.append("cookie", `other=1; key=${value}`);
  }
  return new Request("http://localhost/", { headers });
}

for (const source of ["header", "query", "cookie"] as const) {
  Deno.test(`A key in ${source} is read, and a missing, empty, wrong or long one is 401`, async () => {
    const app = apps[source];
    assertEquals(await (await app.fetch(sending(source, "k-1"))).json(), "k-1");
    for (const values of [[], [""], ["wrong"], ["x".repeat(16_385)]]) {
      const response = await app.fetch(sending(source, ...values));
      assertEquals(response.status, 401);
      assertEquals(response.headers.get("www-authenticate"), `ApiKey realm="apiKey", in="${source}"`);
      const isMissing = values.length === 0 || values[0] === "";
      assertEquals((await response.json()).detail, isMissing ? MISSING[source] : "The key is not valid");
    }
  });

  Deno.test(`A key in ${source} is a security scheme of the document, and no parameter`, () => {
    const { components, paths } = apps[source].openapi();
    const name = { header: "X-Api-Key", query: "api key", cookie: "key" }[source];
    assertEquals(components.securitySchemes, { apiKey: { type: "apiKey", in: source, name } });
    const { security, parameters, responses } = paths["/"]!.get!;
    assertEquals([security, parameters], [[{ apiKey: [] }], undefined]);
    assertEquals(Object.keys(responses), ["200", "401", "4XX", "5XX"]);
  });
}

Deno.test("Two keys in the query are 401: a proxy and the application could read different ones", async () => {
  assertEquals((await apps.query.fetch(sending("query", "k-1", "k-1"))).status, 401);
});

Deno.test("Wrong options throw where the guard is made", () => {
  const make = (options: object) => assertThrows(() => echoing(options as ApiKeyOptions), TypeError).message;
  assertEquals(
    make({ name: "key" }),
    'Cannot make an apiKey guard: "in" must be "header", "query" or "cookie", got undefined',
  );
  assertEquals(
    make({ in: "path", name: "key" }),
    'Cannot make an apiKey guard: "in" must be "header", "query" or "cookie", got "path"',
  );
  assertEquals(
    make({ in: "header" }),
    'Cannot make an apiKey guard: "name" must be the name of the header, got undefined',
  );
  assertEquals(
    make({ in: "header", name: "x key" }),
    'Cannot declare the scheme apiKey: headers cannot be named "x key"',
  );
});

Deno.test("The value of a query parameter that an apiKey declares is REDACTED in access lines", async () => {
  await using serving = await Serving.start(apps.query, { accessLog: true });
  using log = new CapturedLog();
  for (const target of ["/?api%20key=s3cret&x=1", "/nothing-here?api+key=s3cret"]) {
    await exchange(serving.port, `GET ${target} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`);
  }
  assertStringIncludes(log.lines[0]!, "GET /?api%20key=REDACTED&x=1 200");
  assertStringIncludes(log.lines[1]!, "GET /nothing-here?api+key=REDACTED 404");
});

Deno.test("It is REDACTED in log entries, too, and in `instance`", async () => {
  const app = new App();
  const partner = apiKey(async (key) => ({ key }), { in: "query", name: "secret_key" });
  app.get("/fault", { deps: { partner } }, async (request) => {
    throw new Error(`Cannot answer ${request.raw.url}`);
  });
  app.get("/refusal", { deps: { partner } }, async (request) => {
    throw new HTTPError(409, "Not now", { extensions: { instance: request.raw.url } });
  });
  using log = new CapturedLog();
  await (await app.fetch(new Request("http://localhost/fault?secret_key=s3cret&a=1"))).body?.cancel();
  assertStringIncludes(log.text, "http://localhost/fault?secret_key=REDACTED&a=1");
  const { instance } = await (await app.fetch(new Request("http://localhost/refusal?a=1&secret_key=s3cret"))).json();
  assertEquals(instance, "http://localhost/refusal?a=1&secret_key=REDACTED");
  assertEquals(log.text.includes("s3cret"), false);
});
