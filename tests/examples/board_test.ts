/** The boards: one node, without sockets except those of webhooks. */
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { App } from "@webfw/core";
import { sign, signed } from "@webfw/core/auth";
import { TestClient } from "@webfw/core/testing";
import { ADMIN, brief, INBOX_SECRET, PASSWORD, TemporaryBoard } from "./temporary_board.ts";

Deno.test("a user registers, signs out, and signs in by the password alone", async () => {
  await using board = await TemporaryBoard.open();
  const { client, user } = await board.register("ada");
  assertEquals(user, { id: 1, email: "ada@example.com", name: "ada" });
  assertEquals(await client.api.get("/teams"), []);
  await client.api.post("/logout");
  await client.get("/teams").problem(401);
  const login = (password: string) => client.post("/login", { json: { email: "Ada@example.com", password } });
  await login("wrong").problem(403);
  await client.get("/teams").problem(401);
  assertEquals(await login(PASSWORD).json(), user);
  assertEquals(await client.api.get("/teams"), []);
  const json = { email: "ada@example.com", name: "Ada", password: PASSWORD };
  await client.post("/register", { json }).problem(409);
});

Deno.test("only members of its team see a board", async () => {
  await using board = await TemporaryBoard.open();
  const { ada, teamId, boardId } = await board.openBoard();
  const { client: bob, user } = await board.register("bob");
  await bob.get(`/teams/${teamId}`).problem(404);
  await bob.get(`/boards/${boardId}`).problem(404);
  await bob.post(`/boards/${boardId}/cards`, { json: { title: "Mine" } }).problem(404);
  assertEquals(await ada.api.post("/teams/{teamId}/members", { teamId, body: { email: user.email } }), user);
  await ada.post(`/teams/${teamId}/members`, { json: { email: "nobody@example.com" } }).problem(404);
  const { members, boards } = await bob.api.get("/teams/{teamId}", { teamId });
  assertEquals([members.map(({ name }) => name), boards[0]?.id], [["ada", "bob"], boardId]);
});

Deno.test("a repeated request with its Idempotency-Key adds one card, for each user", async () => {
  await using board = await TemporaryBoard.open();
  const { ada, boardId } = await board.openBoard();
  const add = (title: string) =>
    ada.post(`/boards/${boardId}/cards`, { json: { title }, headers: { "idempotency-key": "k-1" } });
  const first = await add("Gears");
  assertEquals(first.status, 201);
  const again = await add("Gears");
  assertEquals([again.headers.get("idempotency-replayed"), await again.json()], ["true", await first.json()]);
  await add("Levers").problem(422);
  const { cards } = await ada.api.get("/boards/{boardId}", { boardId });
  assertEquals(cards.map(brief), [["Gears", "to do", 1]]);
});

Deno.test("a board is live: events continue after the cards that a page has loaded", async () => {
  await using board = await TemporaryBoard.open();
  const { ada, teamId, boardId } = await board.openBoard();
  const { id: other } = await ada.api.post("/teams/{teamId}/boards", { teamId, body: { name: "Other" } });
  const { head } = await ada.api.get("/boards/{boardId}", { boardId });
  await ada.api.post("/boards/{boardId}/cards", { boardId: other, body: { title: "Elsewhere" } });
  const { id: cardId } = await ada.api.post("/boards/{boardId}/cards", { boardId, body: { title: "Gears" } });
  await ada.api.patch("/boards/{boardId}/cards/{cardId}", { boardId, cardId, body: { column: "doing" } });
  const events = await ada.events(`/boards/${boardId}/events`, { headers: { "last-event-id": head } }).take(2);
  assertEquals(events.map((event) => event.gap ? "gap" : brief(event.data as never)), [
    ["Gears", "to do", 1],
    ["Gears", "doing", 2],
  ]);
});

Deno.test("an assigned card is mailed to its assignee, who must be a member", async () => {
  await using board = await TemporaryBoard.open();
  const { ada, user, boardId } = await board.openBoard();
  const { user: bob } = await board.register("bob");
  const { id: cardId } = await ada.api.post("/boards/{boardId}/cards", { boardId, body: { title: "Gears" } });
  await ada.patch(`/boards/${boardId}/cards/${cardId}`, { json: { assignee: bob.id } }).problem(409);
  await ada.api.patch("/boards/{boardId}/cards/{cardId}", { boardId, cardId, body: { assignee: user.id } });
  assertEquals(await board.mails(), [
    "To: ada@example.com\nSubject: Card: Gears\n\n" +
    'ada has assigned you the card "Gears" of the board "Notes".\n',
  ]);
});

Deno.test("the digest has the open cards of each user", async () => {
  await using board = await TemporaryBoard.open();
  const { ada, user, boardId } = await board.openBoard();
  for (const [title, column] of [["Gears", "to do"], ["Levers", "doing"], ["Cams", "done"]] as const) {
    const { id: cardId } = await ada.api.post("/boards/{boardId}/cards", { boardId, body: { title } });
    const body = { column, assignee: user.id };
    await ada.api.patch("/boards/{boardId}/cards/{cardId}", { boardId, cardId, body });
  }
  await ada.runCron("digest");
  const mails = await board.mails();
  assert(mails.includes("To: ada@example.com\nSubject: 2 open cards\n\n- Gears\n- Levers\n"), mails.join("\n"));
});

Deno.test("files are attached, and sent in ranges", async () => {
  await using board = await TemporaryBoard.open();
  const { ada, boardId } = await board.openBoard();
  const { id: cardId } = await ada.api.post("/boards/{boardId}/cards", { boardId, body: { title: "Gears" } });
  const file = new File(["0123456789"], "<notes>.txt", { type: "text/plain" });
  const path = "/boards/{boardId}/cards/{cardId}/attachments";
  const attachment = await ada.api.post(path, { boardId, cardId, form: { file } });
  assertEquals((await ada.api.get("/boards/{boardId}", { boardId })).attachments, [attachment]);
  const url = `/boards/${boardId}/attachments/${attachment.id}`;
  const whole = await ada.get(url);
  assertEquals([whole.headers.get("accept-ranges"), await whole.text()], ["bytes", "0123456789"]);
  assertStringIncludes(whole.headers.get("content-disposition")!, "attachment");
  const part = await ada.get(url, { headers: { range: "bytes=2-4" } });
  assertEquals([part.status, part.headers.get("content-range"), await part.text()], [206, "bytes 2-4/10", "234"]);
  const { client: bob } = await board.register("bob");
  await bob.get(url).problem(404);
  const form = new FormData();
  form.append("file", file);
  await ada.post(`/boards/${boardId}/cards/99/attachments`, { body: form }).problem(404);
});

Deno.test("the export is CSV that runs no formula", async () => {
  await using board = await TemporaryBoard.open();
  const { ada, boardId } = await board.openBoard();
  for (const title of ['A "quoted", card', "=1+1"]) {
    await ada.api.post("/boards/{boardId}/cards", { boardId, body: { title, text: "two\nlines" } });
  }
  const reply = await ada.get(`/boards/${boardId}/cards.csv`);
  assertEquals(
    await reply.text(),
    [
      "id,title,text,column\r\n",
      '1,"A ""quoted"", card","two\nlines",to do\r\n',
      '2,\'=1+1,"two\nlines",to do\r\n',
    ].join(""),
  );
  assertStringIncludes(reply.headers.get("content-type")!, "text/csv");
});

Deno.test("a signed webhook adds a card once, an unsigned one adds none", async () => {
  await using board = await TemporaryBoard.open();
  const { ada, boardId } = await board.openBoard();
  const body = JSON.stringify({ board: boardId, title: "Disk full" });
  const sender = board.client({ "content-type": "application/json" });
  await sender.post("/hooks/cards", { body }).problem(401);
  const signedBy = (secret: string) => sign(body, { scheme: "standard", secret, id: "m-1" });
  await sender.post("/hooks/cards", { body, headers: signedBy("whsec_AAAA") }).problem(401);
  const headers = signedBy(INBOX_SECRET);
  const first = await sender.post("/hooks/cards", { body, headers }).json();
  assertEquals(await sender.post("/hooks/cards", { body, headers }).json(), first);
  assertEquals((await ada.api.get("/boards/{boardId}", { boardId })).cards.map(brief), [["Disk full", "to do", 1]]);
});

Deno.test("changes are sent to the webhook of the team, signed", async () => {
  await using board = await TemporaryBoard.open();
  const { ada, teamId, boardId } = await board.openBoard();
  const url = "https://partner.example/hook";
  const { secret } = await board.client(ADMIN).put(`/admin/teams/${teamId}/hook`, { json: { url } })
    .json<{ secret: string }>();

  // The guard of incoming webhooks verifies it.
  const partner = new App();
  const received = Promise.withResolvers<unknown>();
  partner.post("/hook", { deps: { sender: signed({ scheme: "standard", secret }) } }, async (request) => {
    received.resolve(await request.json());
  });
  await using _receiving = new TestClient(board.app, { webhooks: partner.fetch });
  const card = await ada.api.post("/boards/{boardId}/cards", { boardId, body: { title: "Gears" } });
  const { type, data } = await received.promise as { type: string; data: unknown };
  assertEquals([type, data], ["card.saved", card]);
  await board.app.consumers.idle("webfw.webhooks/send");
  const [delivery] = await Array.fromAsync(board.app.webhook("card.saved").deliveries({ url }));
  assertEquals(delivery?.state, "delivered");
});

Deno.test("the operator lists and removes users, whose sessions and tokens end", async () => {
  await using board = await TemporaryBoard.open();
  const { client: ada, user } = await board.register("ada");
  const { token } = await ada.api.post("/tokens");
  const program = board.client({ authorization: `Bearer ${token}` });
  assertEquals(await program.get("/teams").json(), []);
  await ada.get("/admin/users").problem(401);
  await program.get("/admin/users").problem(401);
  const admin = board.client(ADMIN);
  assertEquals(await admin.get("/admin/users").json(), [user]);
  assertEquals((await admin.delete(`/admin/users/${user.id}`)).status, 204);
  await admin.delete(`/admin/users/${user.id}`).problem(404);
  await ada.get("/teams").problem(401);
  await program.get("/teams").problem(401);
});

Deno.test("an agent with a token adds a card by a tool", async () => {
  await using board = await TemporaryBoard.open();
  const { ada, boardId } = await board.openBoard();
  const { token } = await ada.api.post("/tokens");
  const call = { name: "addCard", arguments: { boardId, body: { title: "From an agent" } } };
  const response = await board.app.fetch(
    new Request("http://localhost/mcp", {
      method: "POST",
      headers: { "content-type": "application/json", "authorization": `Bearer ${token}` },
      body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/call", params: call }),
    }),
  );
  assertEquals((await response.json()).result.structuredContent.title, "From an agent");
  assertEquals((await ada.api.get("/boards/{boardId}", { boardId })).cards.length, 1);
});

Deno.test("presence lists who has the board open", async () => {
  await using board = await TemporaryBoard.open();
  const { ada, teamId, boardId } = await board.openBoard();
  const { client: bob, user } = await board.register("bob");
  await ada.api.post("/teams/{teamId}/members", { teamId, body: { email: user.email } });
  await using first = await ada.api.websocket("/boards/{boardId}/online", { boardId });
  const lists = first[Symbol.asyncIterator]();
  assertEquals((await lists.next()).value, ["ada"]);
  {
    await using _second = await bob.api.websocket("/boards/{boardId}/online", { boardId });
    assertEquals((await lists.next()).value, ["ada", "bob"]);
  }
  assertEquals((await lists.next()).value, ["ada"]);
});

Deno.test("the page allows only scripts of its own", async () => {
  await using board = await TemporaryBoard.open();
  const page = await board.app.fetch(new Request("http://localhost/"));
  assertStringIncludes(page.headers.get("content-security-policy")!, "default-src 'self'");
  assertStringIncludes(await page.text(), "/board.js");
  const script = await board.app.fetch(new Request("http://localhost/board.js"));
  assertEquals(await script.text(), "// the script");
});
