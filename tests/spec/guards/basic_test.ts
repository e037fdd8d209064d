// "basic(async (name, password) => …, { realm })", by RFC 7617.

import { assertEquals, assertThrows } from "@std/assert";
import { App } from "@webfw/core";
import { basic, type BasicOptions } from "@webfw/core/auth";

/** An application that answers with the name and password of each request. */
function echoing(options?: BasicOptions): App {
  const staff = basic(async (name, password) => name === "nobody" ? null : [name, password], options);
  const app = new App();
  app.get("/", { deps: { staff } }, async (_request, { staff }) => staff);
  return app;
}

function encode(pair: string | Uint8Array): string {
  const bytes = typeof pair === "string" ? new TextEncoder().encode(pair) : pair;
  return `Basic ${btoa(String.fromCharCode(...bytes))}`;
}

async function ask(app: App, authorization?: string): Promise<Response> {
  const headers = authorization === undefined ? {} : { authorization };
  return await app.fetch(new Request("http://localhost/", { headers }));
}

Deno.test("The function gets name and password: UTF-8, colons in the password, both may be empty", async () => {
  const app = echoing();
  const pairs = ["Ada:secret", "Ada:a:b::", "Jürgen:пароль 🔑", ":", "\ufeffname:\ufeff"];
  for (const pair of pairs) {
    const colon = pair.indexOf(":");
    const response = await ask(app, encode(pair));
    assertEquals(await response.json(), [pair.slice(0, colon), pair.slice(colon + 1)]);
  }
  assertEquals((await ask(app, encode("a:b").replace("Basic", "bAsIc "))).status, 200);
});

Deno.test("What is missing or malformed is 401 with the realm in quotes and the charset", async () => {
  const app = echoing({ realm: 'The "back" \\ office' });
  const headers = [
    undefined,
    "Bearer YTpi",
    "Basic",
    "Basic ",
    "Basic YTpi YTpi",
    "Basic Y",
    "Basic Y_pi",
    "Basic YTpi====",
    encode("no colon"),
    encode(new Uint8Array([0xc3, 0x28, 0x3a, 0x62])),
    encode("a\u0000:b"),
    encode("a:b\n"),
    encode("nobody:x"),
    `${encode("a:b")}, ${encode("a:b")}`,
    encode(`a:${"x".repeat(16_384)}`),
  ];
  for (const header of headers) {
    const response = await ask(app, header);
    assertEquals(response.status, 401, header);
    const challenge = String.raw`Basic realm="The \"back\" \\ office", charset="UTF-8"`;
    assertEquals(response.headers.get("www-authenticate"), challenge);
    await response.body?.cancel();
  }
});

Deno.test("The document has the scheme basic, and the reply 401", () => {
  const { components, paths } = echoing({ description: "As in the time clock." }).openapi();
  assertEquals(components.securitySchemes, {
    basic: { type: "http", scheme: "basic", description: "As in the time clock." },
  });
  assertEquals(paths["/"]!.get!.security, [{ basic: [] }]);
  assertEquals(paths["/"]!.get!.responses["401"], { $ref: "#/components/responses/Unauthorized" });
});

Deno.test("A realm that no header can carry throws where the guard is made", () => {
  const { message } = assertThrows(() => echoing({ realm: "Büro" }), TypeError);
  assertEquals(
    message,
    "Cannot make a basic guard: a header carries the realm, so it must be ASCII without control characters",
  );
});
