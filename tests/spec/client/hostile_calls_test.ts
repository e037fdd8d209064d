// What calls do with the names, values and replies that a programmer does not think of.

import { assertEquals, assertRejects, assertThrows } from "@std/assert";
import { App, Events } from "@webfw/core";
import { client, ProblemError } from "@webfw/core/client";
import * as v from "valibot";

/** A client of any paths, whose requests get one reply. */
function clientOf(reply: (request: Request) => Response | Promise<Response>) {
  type Call = (path: string, values?: object, options?: object) => Promise<unknown>;
  return client("http://localhost", { fetch: reply }) as unknown as Record<"get" | "post", Call>;
}

Deno.test("A base with a password is refused, and no message has it", () => {
  for (
    const base of [
      "https://ada:s3cret@shop.example/v1",
      "https://s3cret@shop.example",
      "https://shop.example?key=s3cret",
    ]
  ) {
    const { message } = assertThrows(() => client(base), TypeError, "Cannot make a client");
    assertEquals(message.includes("s3cret"), false, message);
  }
  client("https://shop.example/@ada/v1");
});

Deno.test("Names of Object.prototype are names like others", async () => {
  const app = new App();
  const get = app.get("/a/{constructor}/{toString}", async (_request, args) => Object.entries(args));
  const shop = client<{ get: typeof get }>("http://localhost", { fetch: app.fetch });
  const args = { constructor: "a", toString: "b" };
  assertEquals(await shop.get("/a/{constructor}/{toString}", args), Object.entries(args));
  const untyped = clientOf(app.fetch);
  await assertRejects(() => untyped.get("/a/{constructor}/{toString}", {}), TypeError, '"constructor" is missing');
  await assertRejects(() => untyped.get("/{__proto__}"), TypeError, '"__proto__" is missing');
});

Deno.test("An undefined element of a list is not sent, in the query and in headers", async () => {
  const shop = clientOf(({ url, headers }) => Response.json([new URL(url).search, headers.get("x-list")]));
  const list = ["a", undefined, "b"];
  assertEquals(await shop.get("/", { list, headers: { "x-list": list } }), ["?list=a&list=b", "a, b"]);
  assertEquals(await shop.get("/", { list: [], headers: { "x-list": [] } }), ["", null]);
});

Deno.test("Errors of other servers that are no issues are not issues", async () => {
  const others: unknown[] = [
    null,
    "broken",
    { message: "broken" },
    { path: "/a", message: "x" },
    { path: ["a"], in: "body", code: "invalid", message: "wrong" },
  ];
  const shop = clientOf(() => Response.json({ errors: others, detail: "No" }, { status: 400 }));
  const error = await assertRejects(() => shop.get("/"), ProblemError);
  assertEquals([error.issues, error.message], [others.slice(4), 'Cannot call GET /: 400 "No", body.a: "wrong"']);
  const map = clientOf(() => Response.json({ errors: { a: ["wrong"] } }, { status: 400 }));
  assertEquals((await assertRejects(() => map.get("/"), ProblemError)).issues, []);
});

Deno.test('Credentials do not follow a redirect to another origin, and `redirect: "error"` sends nothing there', async () => {
  const seen: (string | null)[][] = [];
  const serve = (handler: (request: Request) => Response) =>
    Deno.serve({ hostname: "127.0.0.1", port: 0, onListen() {} }, handler);
  await using other = serve(({ headers }) => {
    seen.push(["authorization", "cookie"].map((name) => headers.get(name)));
    return Response.json("other");
  });
  await using server = serve(() => Response.redirect(`http://127.0.0.1:${other.addr.port}/`, 307));
  const app = new App();
  const get = app.get("/", { response: v.string() }, async () => "never");
  const headers = { authorization: "Bearer s3cret", cookie: "a=s3cret" };
  const base = `http://127.0.0.1:${server.addr.port}`;
  assertEquals(await client<{ get: typeof get }>(base, { headers }).get("/"), "other");
  const strict = client<{ get: typeof get }>(base, { headers, fetch: (asked) => fetch(asked, { redirect: "error" }) });
  await assertRejects(() => strict.get("/"), TypeError);
  assertEquals(seen, [[null, null]]);
});

Deno.test("What a problem has in place of strings does not become another error", async () => {
  const wrong = { toString: 1, valueOf: 1 };
  const problems: unknown[] = [
    { detail: wrong },
    { errors: [{ path: [wrong], in: "body", message: "x" }] },
    { errors: [{ path: ["a"], in: wrong, message: "x" }] },
    { errors: [{ path: ["a"], in: "body", message: wrong }] },
  ];
  for (const problem of problems) {
    const shop = clientOf(() => Response.json(problem, { status: 409, statusText: "Conflict" }));
    const error = await assertRejects(() => shop.get("/"), ProblemError, 'Cannot call GET /: 409 "Conflict"');
    assertEquals([error.problem.detail, error.issues], ["Conflict", []]);
  }
});

Deno.test("A 4xx of events ends them, whatever its body is", async () => {
  let requests = 0;
  const app = new App();
  const news = app.get("/news", { response: Events(v.number()) }, async function* () {});
  const shop = client<{ news: typeof news }>("http://localhost", {
    fetch: () => {
      // A second request would end the events.
      if (++requests > 1) return Promise.resolve(new Response(null, { status: 204 }));
      return Promise.resolve(Response.json({ detail: { toString: 1, valueOf: 1 } }, { status: 404 }));
    },
  });
  await assertRejects(() => shop.events("/news").next(), ProblemError, "404");
  assertEquals(requests, 1);
});
