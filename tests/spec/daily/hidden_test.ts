// "hidden(schema): validated, and in neither document nor client types."

import { assertEquals, assertThrows } from "@std/assert";
import { App, dependency, hidden, Router } from "@webfw/core";
import { client } from "@webfw/core/client";
import * as v from "valibot";
import { Serving } from "../support/serving.ts";

const trace = hidden(v.optional(v.boolean(), false));

const app = new App();
const caller = dependency(
  {
    headers: { "x-caller": hidden(v.optional(v.string(), "nobody")) },
    query: { debug: hidden(v.optional(v.string())) },
  },
  async (_request, { headers }) => headers["x-caller"],
);
const admin = new Router({ prefix: "/{shop}", deps: { caller } });
const books = admin.get("/books", {
  query: { trace, limit: v.optional(v.number(), 10) },
  cookies: { beta: hidden(v.optional(v.string())) },
  tool: true,
}, async (_request, { trace, limit, cookies, caller, shop }) => ({ trace, limit, caller, shop, beta: cookies.beta }));
app.include(admin);
const api = { books };

function get(query: string, headers: HeadersInit = {}): Promise<Response> {
  return Promise.resolve(app.fetch(new Request(`http://localhost/corner/books${query}`, { headers })));
}

Deno.test("A hidden input is validated and bound like any other", async () => {
  const response = await get("?trace=true", { "x-caller": "ada", cookie: "beta=1" });
  assertEquals(await response.json(), { trace: true, limit: 10, caller: "ada", shop: "corner", beta: "1" });
  const wrong = await get("?trace=perhaps");
  assertEquals([wrong.status, (await wrong.json()).errors[0].path], [422, ["trace"]]);
});

Deno.test("The document and the tool do not have it, and 422 stays", () => {
  const { parameters, responses } = app.openapi().paths["/{shop}/books"]!.get!;
  assertEquals((parameters as { name: string }[]).map(({ name }) => name), ["shop", "limit"]);
  assertEquals("422" in responses, true);
  const only = new App();
  only.get("/", { query: { trace } }, async () => null);
  const operation = only.openapi().paths["/"]!.get!;
  assertEquals([operation.parameters, "422" in operation.responses], [undefined, true]);
});

Deno.test("The types of the client do not have it", async () => {
  await using serving = await Serving.start(app);
  const call = client<typeof api>(serving.origin);
  assertEquals(
    await call.get("/{shop}/books", { shop: "corner", limit: 3 }) as unknown,
    { trace: false, limit: 3, caller: "nobody", shop: "corner" },
  );
  // @ts-expect-error -- hidden
  (() => call.get("/{shop}/books", { shop: "corner", trace: true }));
  // @ts-expect-error -- hidden in a dependency
  (() => call.get("/{shop}/books", { shop: "corner", debug: "1" }));
});

Deno.test("Declared twice, it is shown if one of both is not hidden", () => {
  const app = new App();
  const page = dependency({ query: { page: v.optional(v.number()) } }, async (_request, { page }) => page);
  app.get("/", { query: { page: hidden(v.optional(v.number())) }, deps: { current: page } }, async () => null);
  assertEquals((app.openapi().paths["/"]!.get!.parameters as { name: string }[])[0]!.name, "page");
});

Deno.test("A hidden input can be an entry of a strict object", async () => {
  const app = new App();
  app.get("/", { query: v.strictObject({ trace, limit: v.optional(v.number()) }) }, async (_request, { trace }) => {
    const flag: boolean = trace;
    return flag;
  });
  const ask = async (query: string) => (await app.fetch(new Request(`http://localhost/${query}`))).status;
  assertEquals(await Promise.all(["?trace=true", "?trase=true"].map(ask)), [200, 422]);
  assertEquals((app.openapi().paths["/"]!.get!.parameters as { name: string }[]).map(({ name }) => name), ["limit"]);
});

Deno.test("A path parameter cannot be hidden, and only a schema can", () => {
  assertThrows(
    () => new App().get("/{id}", { params: { id: hidden(v.number()) } }, async () => null),
    TypeError,
    'params "id" is in the path, which the document shows',
  );
  assertThrows(() => hidden(v.string as never), TypeError, 'got the function "string": call it');
});

Deno.test("A schema around a hidden one would be shown, and is refused", () => {
  for (const schema of [v.optional(hidden(v.string())), v.nullish(v.array(hidden(v.string())))]) {
    assertThrows(
      () => new App().get("/", { query: { trace: schema } }, async () => null),
      TypeError,
      'Cannot declare GET /: query "trace" is around a hidden schema, hide the whole: hidden(v.optional(…))',
    );
  }
});
