// "Conditional writes. request.ifMatch(tag): 412 where If-Match is another, 428 where it is missing and the route says
// ifMatch: "required"; etagOf(value) makes a strong tag of a row. Documented."

import { assertEquals, assertMatch, assertNotEquals, assertStringIncludes, assertThrows } from "@std/assert";
import { App, etagOf, RouteError } from "@webfw/core";
import * as v from "valibot";
import { DatabaseSync } from "node:sqlite";
import { CapturedLog } from "../support/captured_log.ts";
import { Serving } from "../support/serving.ts";

const Note = v.object({ text: v.string() });

function notes(ifMatch?: "required" | "optional"): App {
  let version = 1;
  const app = new App();
  app.put("/{id}", { body: Note, ...(ifMatch && { ifMatch }) }, async (request, { id }) => {
    request.ifMatch(id === "new" ? null : `"v${version}"`);
    version++;
  });
  return app;
}

function put(path: string, ifMatch?: string): Request {
  const headers = new Headers({ "content-type": "application/json" });
  if (ifMatch !== undefined) headers.set("if-match", ifMatch);
  return new Request(`http://localhost${path}`, { method: "PUT", body: '{"text":""}', headers });
}

async function statusOf(app: App, request: Request): Promise<number> {
  const response = await app.fetch(request);
  await response.body?.cancel();
  return response.status;
}

Deno.test("The present version, a list with it, and a star are accepted; another and a weak one are 412", async () => {
  const accepted = ['"v1"', ' "v1" ', '"v0", "v1"', 'W/"v1","v1"', '"a,b","v1"', "*", " * "];
  for (const header of accepted) assertEquals(await statusOf(notes(), put("/1", header)), 204, header);
  const refused = ['"v2"', 'W/"v1"', "v1", '"v1', "", '"v0", W/"v1"', '"x"v1"', "**"];
  for (const header of refused) assertEquals(await statusOf(notes(), put("/1", header)), 412, header);
});

Deno.test("Without the header it is 428 where the route requires it, and else the write happens", async () => {
  assertEquals(await statusOf(notes("required"), put("/1")), 428);
  assertEquals(await statusOf(notes("optional"), put("/1")), 204);
  assertEquals(await statusOf(notes(), put("/1")), 204);
});

Deno.test("Where nothing is, each condition fails", async () => {
  for (const header of ['"v1"', "*"]) assertEquals(await statusOf(notes(), put("/new", header)), 412);
  assertEquals(await statusOf(notes(), put("/new")), 204);
});

Deno.test("A tag that is not a strong one is a mistake of the program", async () => {
  const app = new App();
  using log = new CapturedLog();
  app.put("/{tag}", async (request, { tag }) => request.ifMatch(tag));
  for (const tag of ["v1", 'W/"v1"', '"a b"', '""x"']) {
    const request = new Request(`http://localhost/${encodeURIComponent(tag)}`, { method: "PUT" });
    assertEquals(await statusOf(app, request), 500, tag);
  }
  assertStringIncludes(log.lines[0]!, "the tag must be a strong one, as of etagOf(row)");
});

Deno.test("Equal data has the same strong tag, and any change another one", () => {
  const row = { id: 1, text: "ä", at: new Date(0), big: 7n, list: [1, { a: 1, b: 2 }], none: null };
  const same = { none: null, list: [1, { b: 2, a: 1 }], big: 7n, at: new Date(0), text: "ä", id: 1 };
  assertMatch(etagOf(row), /^"[\w-]{27}"$/);
  assertEquals(etagOf(row), etagOf(same));
  const others = [
    { ...row, id: 2 },
    { ...row, at: new Date(1) },
    { ...row, big: 8n },
    { ...row, list: [{ a: 1, b: 2 }, 1] },
    { ...row, none: 0 },
    { ...row, more: "" },
  ];
  for (const other of others) assertNotEquals(etagOf(row), etagOf(other));
  assertEquals(new Set([1, "1", null, [], {}, ""].map(etagOf)).size, 6);
  for (const wrong of [undefined, () => 1, Symbol()]) assertThrows(() => etagOf(wrong), TypeError, "no JSON form");
});

Deno.test("Two editors of one row: the second one is refused, reads again, and nothing is lost", async () => {
  using db = new DatabaseSync(":memory:");
  db.exec("CREATE TABLE notes (id INTEGER PRIMARY KEY, text TEXT) STRICT; INSERT INTO notes VALUES (1, 'draft')");
  const find = (id: string) => db.prepare("SELECT * FROM notes WHERE id = ?").get(id);
  const app = new App();
  app.get("/notes/{id}", async (request, { id }) => {
    const row = find(id);
    request.replyHeaders.set("etag", etagOf(row));
    return row;
  });
  app.put("/notes/{id}", { body: Note, ifMatch: "required" }, async (request, { id, body }) => {
    request.ifMatch(etagOf(find(id)));
    db.prepare("UPDATE notes SET text = ? WHERE id = ?").run(body.text, id);
    request.replyHeaders.set("etag", etagOf(find(id)));
  });
  await using serving = await Serving.start(app);
  const url = `${serving.origin}/notes/1`;
  const read = async () => {
    const response = await fetch(url);
    return { etag: response.headers.get("etag")!, text: (await response.json()).text as string };
  };
  const write = (text: string, etag: string) =>
    fetch(url, {
      method: "PUT",
      body: JSON.stringify({ text }),
      headers: { "content-type": "application/json", "if-match": etag },
    });
  const [ada, bob] = [await read(), await read()];
  const first = await write(`${ada.text}, ada`, ada.etag);
  assertEquals(first.status, 204);
  const second = await write(`${bob.text}, bob`, bob.etag);
  assertEquals([second.status, (await second.json()).detail], [
    412,
    "The version is not the one of If-Match: read it again",
  ]);
  const again = await read();
  assertEquals(again.etag, first.headers.get("etag"));
  assertEquals((await write(`${again.text}, bob`, again.etag)).status, 204);
  assertEquals((await read()).text, "draft, ada, bob");
});

Deno.test("The document has the header, 412 and 428", () => {
  for (const ifMatch of ["required", "optional"] as const) {
    const { parameters, responses } = notes(ifMatch).openapi().paths["/{id}"]!.put!;
    assertEquals(parameters!.at(-1), {
      name: "If-Match",
      in: "header",
      required: ifMatch === "required",
      description: "The `ETag` of the version that the request changes.",
      schema: { type: "string" },
    });
    assertEquals(["412" in responses, "428" in responses], [true, ifMatch === "required"]);
  }
  const { responses } = notes().openapi().paths["/{id}"]!.put!;
  assertEquals("412" in responses, false);
});

Deno.test("A wrong value is an error, and so is a tool that requires what agents do not send", () => {
  const app = new App();
  const error = assertThrows(() => app.put("/a", { ifMatch: "always" as "required" }, async () => null), TypeError);
  assertStringIncludes(error.message, '"ifMatch" must be "required" or "optional", got "always"');
  assertThrows(
    () => app.put("/b", { ifMatch: "required", tool: true }, async () => null),
    RouteError,
    "it requires If-Match, which agents do not send",
  );
});
