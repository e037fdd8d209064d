// Section 2 of the contract of the client: inputs that dependencies declare are arguments.

import { assertEquals } from "@std/assert";
import { App, dependency, HTTPError, Router } from "@webfw/core";
import { client, ProblemError } from "@webfw/core/client";
import * as v from "valibot";
import { Serving } from "../support/serving.ts";

const Id = v.pipe(v.number(), v.integer());
const page = dependency({
  query: { page: v.optional(Id, 1), size: Id },
  headers: { "x-order": v.string() },
  cookies: { theme: v.string() },
}, async (_request, inputs) => inputs);
const board = dependency({ params: { boardId: Id } }, async (_request, { boardId }) => {
  if (boardId > 9) throw new HTTPError(404, "No such board");
  return { id: boardId };
});
const column = dependency({ params: { column: Id }, deps: { board } }, async (_request, { column, board }) => {
  return [board.id, column];
});

function boards() {
  const app = new App();
  const admin = new Router({ prefix: "/boards/{boardId}", deps: { board } });
  const api = {
    pages: app.get("/pages", { deps: { page }, response: v.array(v.unknown()) }, async (_request, { page }) => {
      return [page.page, page.size, page.headers, page.cookies];
    }),
    column: app.get("/boards/{boardId}/columns/{column}", { deps: { place: column } }, async (_request, args) => args),
    plain: admin.get("/id", async (_request, { boardId, board }) => [boardId, board.id]),
  };
  app.include(admin);
  return { app, api };
}

Deno.test("calls: path and query of dependencies are arguments, their headers and cookies can be left out", async () => {
  const { app, api } = boards();
  await using serving = await Serving.start(app);
  const common = { headers: { "x-order": "asc", cookie: "theme=dark" } };
  const shop = client<typeof api>(serving.origin, common);
  const read = { headers: { "x-order": "asc" }, cookies: { theme: "dark" } };
  assertEquals(await shop.get("/pages", { size: 5 }), [1, 5, ...Object.values(read)]);
  assertEquals(await shop.get("/pages", { size: 5, page: 2 }), [2, 5, ...Object.values(read)]);
  const given = await client<typeof api>(serving.origin).get("/pages", { size: 5, ...read });
  assertEquals(given, [1, 5, ...Object.values(read)]);
});

Deno.test("calls: what dependencies of dependencies, and those of a router, read of the path is an argument", async () => {
  const { app, api } = boards();
  const shop = client<typeof api>("http://localhost", { fetch: app.fetch });
  assertEquals(await shop.get("/boards/{boardId}/id", { boardId: 4 }), [4, 4]);
  const place = await shop.get("/boards/{boardId}/columns/{column}", { boardId: 4, column: 2 });
  assertEquals(place, { boardId: 4, column: 2, place: [4, 2] });
  const refused = await shop.get("/boards/{boardId}/id", { boardId: 12 }).catch((error: unknown) => error);
  assertEquals(refused instanceof ProblemError && refused.status, 404);
});
