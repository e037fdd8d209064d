// Section 4 of the contract over real sockets: "401 and 403 come before 422 and no upload is taken
// from strangers". Section 7: refusals of a WebSocket come before the upgrade.

import { assert, assertEquals } from "@std/assert";
import { App, dependency, Form, HTTPError, UploadFile } from "@webfw/core";
import type { SecurityRequirement } from "@webfw/core/types";
import * as v from "valibot";
import { headerOf, RawConnection } from "./support/raw_connection.ts";
import { RawSocket, upgradeRequest } from "./support/raw_socket.ts";
import { Serving } from "./support/serving.ts";

const MEBIBYTE = 1024 * 1024;
const UPLOAD = 20 * MEBIBYTE;
const security: SecurityRequirement = { bearer: { type: "http", scheme: "bearer" } };

const user = dependency(
  { headers: { authorization: v.optional(v.string()) }, security },
  async (_request, { headers }) => {
    if (headers.authorization !== undefined) return headers.authorization;
    throw new HTTPError(401, "Sign in", { headers: { "www-authenticate": "Bearer" } });
  },
);

function uploads(): App {
  const app = new App();
  app.post("/uploads", { form: Form(v.object({ f: UploadFile })), deps: { user } }, async () => "taken");
  app.post("/notes", { body: v.string(), deps: { user } }, async () => "taken");
  app.get("/", async () => "open");
  return app;
}

function headOf(path: string, type: string, ...lines: string[]): string {
  return [`POST ${path} HTTP/1.1`, "Host: x", `Content-Type: ${type}`, ...lines, "", ""].join("\r\n");
}

const UPLOAD_TYPE = "multipart/form-data; boundary=B";

Deno.test("A guard refuses an upload of 20 MiB of which nothing has come", async () => {
  await using serving = await Serving.start(uploads());
  for (const framing of [`Content-Length: ${UPLOAD}`, "Transfer-Encoding: chunked"]) {
    using connection = await RawConnection.open(serving.port);
    await connection.write(headOf("/uploads", UPLOAD_TYPE, framing));
    const reply = await connection.reply();
    assertEquals([reply.status, headerOf(reply, "www-authenticate")], [401, "Bearer"]);
    assertEquals(headerOf(reply, "connection"), "close", "the rest of the upload is no request");
  }
});

Deno.test("A client that sends all of a refused upload before it reads gets the 401, and no broken connection", async () => {
  await using serving = await Serving.start(uploads());
  using connection = await RawConnection.open(serving.port);
  await connection.write(headOf("/uploads", UPLOAD_TYPE, `Content-Length: ${UPLOAD}`));
  await connection.write(new Uint8Array(UPLOAD));
  assertEquals((await connection.reply()).status, 401);
  const body = new FormData();
  body.append("f", new Blob([new Uint8Array(UPLOAD)]));
  const reply = await fetch(`${serving.origin}/uploads`, { method: "POST", body });
  assertEquals([reply.status, (await reply.json()).detail], [401, "Sign in"]);
});

Deno.test("A client that waits for 100 Continue is refused without its upload", async () => {
  await using serving = await Serving.start(uploads());
  using connection = await RawConnection.open(serving.port);
  await connection.write(headOf("/uploads", UPLOAD_TYPE, `Content-Length: ${UPLOAD}`, "Expect: 100-continue"));
  const reply = await connection.until('"Sign in"}');
  assert(reply.includes("HTTP/1.1 401 "), reply);
});

Deno.test("The connection is kept where a small body came with the head of the refused request", async () => {
  await using serving = await Serving.start(uploads());
  using connection = await RawConnection.open(serving.port);
  await connection.write(headOf("/notes", "application/json", "Content-Length: 5") + '"abc"');
  assertEquals((await connection.reply()).status, 401);
  await connection.write("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
  assertEquals((await connection.reply()).body, '"open"');
});

Deno.test("A guard refuses a WebSocket before its other input is validated, and supplies its value to the handler", async () => {
  const app = new App();
  let made = 0;
  const plain = dependency(async () => ++made);
  app.websocket(
    "/rooms/{room}",
    { params: { room: v.number() }, query: { page: v.number() }, deps: { plain, user } },
    async (socket, { room, page, user, plain }) => await socket.send(JSON.stringify([room, page, user, plain])),
  );
  await using serving = await Serving.start(app);
  const refusal = async (path: string, headers = {}) => {
    using connection = await RawConnection.open(serving.port);
    await connection.write(upgradeRequest(path, headers));
    return await connection.reply();
  };
  const stranger = await refusal("/rooms/x?page=y");
  assertEquals([stranger.status, JSON.parse(stranger.body).errors], [401, undefined]);
  const known = await refusal("/rooms/x?page=y", { authorization: "ada" });
  assertEquals([known.status, JSON.parse(known.body).errors.length, made], [422, 2, 0]);
  using socket = await RawSocket.open(serving.port, "/rooms/1?page=2", { authorization: "ada" });
  assertEquals(new TextDecoder().decode((await socket.frame())?.payload), '[1,2,"ada",1]');
});
