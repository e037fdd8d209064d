// Section 6 of the contract: errors, and the table of conditions and replies.

import { assert, assertEquals, assertFalse, assertInstanceOf, assertStringIncludes, assertThrows } from "@std/assert";
import { App, dependency, HTTPError, ValidationError } from "@webfw/core";
import { TestClient } from "@webfw/core/testing";
import * as v from "valibot";
import { CapturedLog } from "./support/captured_log.ts";

function throwing(thrown: unknown): App {
  const app = new App();
  app.get("/", async () => {
    throw thrown;
  });
  return app;
}

Deno.test("No path matches: 404", async () => {
  const app = new App();
  app.get("/a", async () => 1);
  app.get("/b/{x}", async () => 1);
  await using client = new TestClient(app);
  for (const path of ["/", "/A", "/a/", "/a/b", "//a", "/b", "/b/", "/b/x/", "/b//", "/b/x/y", "/favicon.ico"]) {
    assertEquals((await client.get(path).problem(404)).status, 404, path);
  }
  assertEquals((await client.post("/nothing")).status, 404);
});

Deno.test("Path known, method not: 405 with Allow, in which GET implies HEAD", async () => {
  const app = new App();
  app.get("/get", async () => 1);
  app.post("/post", async () => 1);
  app.route("/many", { methods: ["PURGE", "PUT"] }, async () => 1);
  app.route("/head", { methods: ["HEAD"] }, async () => 1);
  await using client = new TestClient(app);
  const table: [method: string, path: string, allow: string[]][] = [
    ["POST", "/get", ["GET", "HEAD"]],
    ["GET", "/post", ["POST"]],
    ["HEAD", "/post", ["POST"]],
    ["GET", "/many", ["PURGE", "PUT"]],
    ["GET", "/head", ["HEAD"]],
    ["OPTIONS", "/get", ["GET", "HEAD"]],
    ["OPTIONS", "/post", ["POST"]],
    ["BREW", "/get", ["GET", "HEAD"]],
  ];
  for (const [method, path, allow] of table) {
    const response = await client.request(method, path);
    assertEquals(response.status, 405, `${method} ${path}`);
    assertEquals(response.headers.get("allow")?.split(", ").toSorted(), allow, `${method} ${path}`);
  }
});

Deno.test("A method's name is case-sensitive", async () => {
  const app = new App();
  app.patch("/", async () => 1);
  await using client = new TestClient(app);
  assertEquals((await client.request("patch", "/")).status, 405);
});

Deno.test("The most specific route lacks the method: the next matching shape that has it serves", async () => {
  const app = new App();
  app.get("/users/me", async () => "me");
  app.delete("/users/{id}", async (_request, { id }) => id);
  app.route("/users/{rest...}", { methods: ["PURGE"] }, async (_request, { rest }) => rest);
  app.put("/{kind}/me", async (_request, { kind }) => kind);
  await using client = new TestClient(app);
  assertEquals(await client.get("/users/me").json(), "me");
  assertEquals(await client.delete("/users/me").json(), "me");
  assertEquals(await client.request("PURGE", "/users/me").json(), "me");
  assertEquals(await client.put("/users/me").json(), "users");
});

Deno.test("Allow is the union over all matching shapes", async () => {
  const app = new App();
  app.get("/users/me", async () => 1);
  app.delete("/users/{id}", async () => 1);
  app.route("/users/{rest...}", { methods: ["PURGE"] }, async () => 1);
  app.post("/other/{id}", async () => 1);
  await using client = new TestClient(app);
  const allow = (await client.patch("/users/me")).headers.get("allow")?.split(", ").toSorted();
  assertEquals(allow, ["DELETE", "GET", "HEAD", "PURGE"]);
});

Deno.test("HEAD on a GET path: as GET, no body, same headers", async () => {
  const app = new App();
  app.get("/json", async () => ({ a: 1 }));
  app.get("/own", async () => new Response("x", { status: 203, headers: { "x-a": "1", "content-length": "1" } }));
  app.get("/fails", async () => {
    throw new HTTPError(409, "Taken", { headers: { "x-b": "2" } });
  });
  app.get("/{n}", { params: { n: v.number() } }, async (_request, { n }) => n);
  await using client = new TestClient(app);
  for (const path of ["/json", "/own", "/fails", "/5", "/x", "/missing/x"]) {
    const [get, head] = [await client.get(path), await client.head(path)];
    assertEquals(head.status, get.status, path);
    assertEquals([...head.headers], [...get.headers], path);
    assertEquals(await head.text(), "", path);
  }
});

Deno.test("An HTTPError anywhere is answered with its status", async () => {
  const routers: Record<string, (error: HTTPError) => App> = {
    handler: throwing,
    dependency: (error) => {
      const app = new App();
      const dep = dependency(async () => {
        throw error;
      });
      app.get("/", { deps: { dep } }, async () => 1);
      return app;
    },
    middleware: (error) => {
      const app = new App();
      app.middleware(async () => {
        throw error;
      });
      return app;
    },
    stream: (error) => {
      const app = new App();
      app.get("/", async function* () {
        throw error;
        // deno-lint-ignore no-unreachable
        yield 1;
      });
      return app;
    },
    schema: (error) => {
      const app = new App();
      const schema = v.optionalAsync(v.string(), "x");
      const fails = v.pipeAsync(schema, v.checkAsync(async () => await Promise.reject(error)));
      app.get("/", { query: { q: fails } }, async () => 1);
      return app;
    },
  };
  using log = new CapturedLog();
  for (const [place, make] of Object.entries(routers)) {
    for (const status of [400, 401, 403, 404, 409, 418, 429, 451, 499, 503, 599]) {
      await using client = new TestClient(make(new HTTPError(status, "Because")));
      const problem = await client.get("/").problem(status);
      assertEquals([problem.status, problem.detail], [status, "Because"], place);
    }
  }
  assertEquals(log.text, "");
});

Deno.test("Every error reply is application/problem+json with type, title, status and detail", async () => {
  await using client = new TestClient(throwing(new HTTPError(404, "No such book")));
  const response = await client.get("/");
  assertEquals(response.headers.get("content-type"), "application/problem+json");
  assertEquals(await response.json(), {
    type: "about:blank",
    title: "Not Found",
    status: 404,
    detail: "No such book",
  });
});

Deno.test("There is always a detail, and a status without a name has a title", async () => {
  for (const status of [402, 418, 499, 599]) {
    await using client = new TestClient(throwing(new HTTPError(status)));
    const { title, detail } = await client.get("/").problem(status);
    assert(title.length > 0 && detail.length > 0, String(status));
  }
});

Deno.test("An HTTPError carries headers, type, title and further members", async () => {
  const error = new HTTPError(401, "Log in", {
    headers: [["www-authenticate", "Bearer"], ["set-cookie", "a=1"], ["set-cookie", "b=2"]],
    type: "https://books.example/login",
    title: "Login needed",
    extensions: { instance: "/requests/7", hint: { url: "/login" }, status: 200, title: "no", count: 5n },
    cause: new Error("secret"),
  });
  await using client = new TestClient(throwing(error));
  const response = await client.get("/");
  assertEquals([response.status, response.headers.get("www-authenticate")], [401, "Bearer"]);
  assertEquals(response.headers.getSetCookie(), ["a=1", "b=2"]);
  assertEquals(await response.json(), {
    type: "https://books.example/login",
    title: "Login needed",
    status: 401,
    detail: "Log in",
    instance: "/requests/7",
    hint: { url: "/login" },
    count: "5",
  });
});

Deno.test("instance is left out unless the application sets it", async () => {
  await using client = new TestClient(throwing(new HTTPError(400)));
  assertFalse("instance" in await client.get("/").problem(400));
  assertFalse("instance" in await client.get("/missing").problem(404));
});

Deno.test("The status of an HTTPError must be that of an error", () => {
  for (const status of [100, 200, 204, 301, 399, 600, 0, -1, 404.5, NaN, Infinity, "404"]) {
    assertThrows(() => new HTTPError(status as number), RangeError, undefined, String(status));
  }
});

Deno.test("HTTPError and ValidationError are Errors with a name, a message and a cause", () => {
  const cause = new Error("x");
  const error = new HTTPError(502, "Upstream", { cause });
  assertInstanceOf(error, Error);
  assertEquals([error.name, error.message, error.status, error.detail, error.cause], [
    "HTTPError",
    "Upstream",
    502,
    "Upstream",
    cause,
  ]);
  const invalid = new ValidationError([{ in: "body", path: ["a"], message: "Wrong" }]);
  assertInstanceOf(invalid, HTTPError);
  assertEquals([invalid.name, invalid.status], ["ValidationError", 422]);
});

Deno.test("A ValidationError that a handler raises is a 422 with its issues", async () => {
  const wrong = { in: "body" as const, path: ["isbn"], message: "Already in the catalogue" };
  const missing = { ...wrong, code: "missing" as const, message: "The shop needs it" };
  await using client = new TestClient(throwing(new ValidationError([wrong, missing])));
  const { errors } = await client.get("/").problem(422);
  assertEquals(errors, [{ ...wrong, code: "invalid" }, missing]);
  assertEquals(Object.keys(errors[0]!), ["in", "path", "code", "message"]);
});

Deno.test("The 422 adds errors: in, path, code, message and expected of each fault", async () => {
  const app = new App();
  app.get("/", { query: { limit: v.pipe(v.number(), v.maxValue(10)) } }, async () => 1);
  await using client = new TestClient(app);
  const problem = await client.get("/?limit=ten").problem(422);
  assertEquals([problem.type, problem.status], ["about:blank", 422]);
  assert(problem.title !== "" && problem.detail !== "");
  assertEquals(problem.errors.length, 1);
  const { message, ...issue } = problem.errors[0]!;
  assertEquals(issue, { in: "query", path: ["limit"], code: "invalid", expected: "number" });
  assert(message !== "");
  assertEquals((await client.get("/?limit=11").problem(422)).errors[0]!.expected, "<=10");
});

Deno.test("Anything else thrown is 500, logged, and says nothing of the cause", async () => {
  const secret = "SECRET";
  const values = [
    new Error(secret, { cause: new Error(`deeper ${secret}`) }),
    new TypeError(secret),
    Object.assign(new Error(secret), { status: 404, statusCode: 404, expose: true, headers: { "x-a": secret } }),
    secret,
    { status: 400, message: secret },
    new Response(secret, { status: 404 }),
    Symbol(secret),
    () => secret,
    new AggregateError([new Error(secret)], secret),
    new DOMException(secret, "AbortError"),
  ];
  for (const value of values) {
    await using client = new TestClient(throwing(value));
    using log = new CapturedLog();
    const response = await client.get("/");
    assertEquals(response.status, 500, String(value));
    assertEquals(response.headers.get("content-type"), "application/problem+json");
    assertFalse([...response.headers].flat().join().includes(secret));
    assertEquals(await response.json(), {
      type: "about:blank",
      title: "Internal Server Error",
      status: 500,
      detail: "Internal Server Error",
    });
    assertEquals(log.lines.length, 1, String(value));
    assertStringIncludes(log.text, "GET");
  }
});

Deno.test("Whatever is thrown, the reply is a 500 and fetch does not reject", async () => {
  const hostile = [
    undefined,
    null,
    NaN,
    0,
    "",
    Object.create(null),
    new Proxy({}, {
      get() {
        throw new Error("trap");
      },
      has() {
        throw new Error("trap");
      },
      getPrototypeOf() {
        throw new Error("trap");
      },
    }),
    {
      [Symbol.for("Deno.customInspect")]() {
        throw new Error("inspect");
      },
    },
    Object.defineProperty(new Error("x"), "stack", {
      get() {
        throw new Error("stack");
      },
    }),
    Object.defineProperty(new Error("x"), "message", {
      get() {
        throw new Error("message");
      },
    }),
  ];
  for (const [index, value] of hostile.entries()) {
    await using client = new TestClient(throwing(value));
    using _log = new CapturedLog();
    assertEquals((await client.get("/")).status, 500, `value ${index}`);
  }
});

Deno.test("The cause of a 5xx HTTPError is logged and not sent; that of a 4xx is not logged", async () => {
  for (const [status, lines] of [[503, 1], [500, 1], [404, 0], [422, 0]] as const) {
    await using client = new TestClient(throwing(new HTTPError(status, "Told", { cause: new Error("untold") })));
    using log = new CapturedLog();
    const body = await (await client.get("/")).text();
    assertFalse(body.includes("untold"));
    assertEquals(log.lines.length, lines, String(status));
    assertEquals(log.text.includes("untold"), lines === 1);
  }
});

Deno.test("Headers of an HTTPError that cannot be sent are a server error, not an injection", async () => {
  for (const value of ["a\r\nset-cookie: x=1", "a\nb", "a\0b", "é€"]) {
    await using client = new TestClient(throwing(new HTTPError(400, "x", { headers: { "x-a": value } })));
    using _log = new CapturedLog();
    const response = await client.get("/");
    assert(response.status >= 400, value);
    assertEquals(response.headers.getSetCookie(), []);
  }
});

Deno.test("Extensions of an HTTPError that have no JSON form are a server error, and do not reject", async () => {
  const circle: Record<string, unknown> = {};
  circle.self = circle;
  await using client = new TestClient(throwing(new HTTPError(400, "x", { extensions: circle })));
  using _log = new CapturedLog();
  assertEquals((await client.get("/")).status, 500);
});

Deno.test("An HTTPError of another copy of the package is answered with its status", async () => {
  class Foreign extends Error {
    status = 409;
    detail = "Foreign";
    headers = undefined;
    toProblem() {
      return { type: "about:blank", title: "Conflict", status: 409, detail: "Foreign" };
    }
  }
  const thrown = Object.assign(new Foreign(), { [Symbol.for("webfw.HTTPError")]: true });
  await using client = new TestClient(throwing(thrown));
  assertEquals((await client.get("/").problem(409)).detail, "Foreign");
});
