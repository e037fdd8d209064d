// Section 2 of the contract of guards, what holds for all kinds of guards: their options, their
// refusals, and "nothing of a credential is logged".

import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { anySecurity, App, type Dependency, Router } from "@webfw/core";
import { apiKey, basic, bearer, jwt, optional, session } from "@webfw/core/auth";
import * as v from "valibot";
import { CapturedLog } from "../support/captured_log.ts";
import { exchange } from "../support/raw_connection.ts";
import { Serving } from "../support/serving.ts";
import { answering, AUDIENCE, ISSUER } from "./support/tokens.ts";

const User = v.object({ userId: v.number() });
const secret = "0b72d3c1".repeat(4);

type Options = { readonly scheme?: string; readonly description?: string };

/** Each kind of guard, by the default name of its scheme. */
const kinds: Readonly<Record<string, (options: Options) => Dependency<unknown>>> = {
  bearer: (options) => bearer(async () => null, options),
  basic: (options) => basic(async () => null, options),
  apiKey: (options) => apiKey(async () => null, { in: "header", name: "x-key", ...options }),
  jwt: (options) => jwt({ issuer: ISSUER, audience: AUDIENCE, ...options }),
  session: (options) => session(User, { secret, ...options }).required(),
};

Deno.test("Options of all: `scheme` is the name in the document, with a default, and `description` its text", () => {
  for (const [name, make] of Object.entries(kinds)) {
    assertEquals(Object.keys(answering(make({})).openapi().components.securitySchemes!), [name]);
    const { components, paths } = answering(make({ scheme: "mine", description: "Ask Ada." })).openapi();
    assertEquals(Object.keys(components.securitySchemes!), ["mine"], name);
    assertEquals(components.securitySchemes!.mine!.description, "Ask Ada.", name);
    assertEquals(paths["/"]!.get!.security, [{ mine: [] }], name);
  }
});

Deno.test("A refusal is 401 with WWW-Authenticate, and documented, for each kind of guard", async () => {
  for (const [name, make] of Object.entries(kinds)) {
    const app = answering(make({}));
    const response = await app.fetch(new Request("http://localhost/"));
    await response.body?.cancel();
    assertEquals([response.status, response.headers.has("www-authenticate")], [401, true], name);
    assert("401" in app.openapi().paths["/"]!.get!.responses, name);
  }
});

Deno.test("Nothing of a credential is logged: in headers and cookies, refused or let in, or where the handler fails", async () => {
  const app = new App();
  const guards = {
    bearer: bearer(async (token) => token === "s3cret-right"),
    basic: basic(async (_name, password) => password === "s3cret-right"),
    header: apiKey(async (key) => key === "s3cret-right", { in: "header", name: "x-key", scheme: "header" }),
    cookie: apiKey(async (key) => key === "s3cret-right", { in: "cookie", name: "key", scheme: "cookie" }),
    session: session(User, { secret }).required(),
  };
  for (const [name, guard] of Object.entries(guards)) {
    app.get(`/${name}`, { deps: { guard } }, async () => {
      throw new Error("The handler failed");
    });
  }
  const sent = (value: string): Readonly<Record<keyof typeof guards, string>> => ({
    bearer: `Authorization: Bearer ${value}`,
    basic: `Authorization: Basic ${btoa(`ada:${value}`)}`,
    header: `X-Key: ${value}`,
    cookie: `Cookie: key=${value}`,
    session: `Cookie: __Host-session=Fe26.2*${value}`,
  });
  await using serving = await Serving.start(app, { accessLog: true });
  using log = new CapturedLog();
  for (const value of ["s3cret-right", "s3cret-wrong"]) {
    for (const [name, line] of Object.entries(sent(value))) {
      const { status } = await exchange(
        serving.port,
        `GET /${name} HTTP/1.1\r\nHost: localhost\r\n${line}\r\nConnection: close\r\n\r\n`,
      );
      assertEquals(status, value === "s3cret-right" && name !== "session" ? 500 : 401, name);
    }
  }
  assertStringIncludes(log.text, "The handler failed");
  for (const part of ["s3cret", btoa("ada:s3cret-right"), btoa("ada:s3cret-wrong")]) {
    assertEquals(log.text.includes(part), false, log.text);
  }
});

Deno.test("A query parameter that an `apiKey` declares is REDACTED wherever the guard stands", async () => {
  const key = (name: string) => apiKey(async (key) => key, { in: "query", name, scheme: name });
  const user = bearer(async () => null);
  const app = new App({ docs: { deps: { guard: key("of-page") } } });
  const router = new Router({ prefix: "/router", deps: { guard: key("of-router") } });
  router.get("", async () => 1);
  router.mount("/mount", () => new Response());
  app.include(router, { deps: { outer: optional(key("of-include")) } });
  app.get("/either", { deps: { guard: anySecurity(user, key("of-either")) } }, async () => 1);
  app.get("/hidden", { hidden: true, deps: { guard: key("of-hidden") } }, async () => 1);
  app.websocket("/socket", { deps: { guard: key("of-socket") } }, async () => {});
  await using serving = await Serving.start(app, { accessLog: true });
  using log = new CapturedLog();
  const targets = [
    "/docs?of-page=",
    "/router?of-router=",
    "/router/mount/x?of-router=",
    "/router?of-include=",
    "/either?of-either=",
    "/hidden?of-hidden=",
    "/socket?of-socket=",
  ];
  for (const target of targets) {
    await exchange(serving.port, `GET ${target}s3cret HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n`);
    assertStringIncludes(log.lines.at(-1)!, `GET ${target}REDACTED `);
  }
  assertEquals(log.text.includes("s3cret"), false);
});
