/** A board: its cards, its live events, and its export. */
import { dependency, Events, HTTPError, Router, SSE, Text } from "@webfw/core";
import * as v from "valibot";
import { Attachment, Board, Card, CardChange, Id, NewCard, type User } from "./models.ts";
import { Changes, type State, state } from "./state.ts";
import { user } from "./sign_in.ts";

const CARDS = "SELECT * FROM cards WHERE board = ? ORDER BY id";

/** The board in the path, for the members of its team. */
export const board = dependency({ state, params: { boardId: Id }, deps: { user } }, async (request, args) => {
  const sql = "SELECT boards.* FROM boards JOIN members USING (team) WHERE boards.id = ? AND members.user = ?";
  const board = request.state.database.get<Board>(sql, args.boardId, args.user.id);
  if (!board) throw new HTTPError(404, "No such board");
  return board;
});

export const cards = new Router({ prefix: "/boards/{boardId}", state, deps: { board, user }, tags: ["Cards"] });

export const getBoard = cards.get("", {
  response: v.object({ ...Board.entries, cards: v.array(Card), attachments: v.array(Attachment), head: v.string() }),
  tool: true,
}, async function getBoard(request, { board }) {
  "Get a board with its cards. Its events continue after the id `head`.";
  // The position comes first: a change in between is in the cards, and comes again as an event.
  const head = await request.app.topic(Changes).head();
  const { database } = request.state;
  const sql = "SELECT attachments.* FROM attachments JOIN cards ON cards.id = attachments.card WHERE cards.board = ?";
  const attachments = database.all<Attachment>(sql, board.id);
  return { ...board, cards: database.all<Card>(CARDS, board.id), attachments, head };
});

export const addCard = cards.post("/cards", {
  body: NewCard,
  response: Card,
  status: 201,
  idempotent: { window: "24h", by: (_request, { user }) => user.id },
  tool: true,
}, async function addCard(request, { body, board, user }) {
  "Add a card to a board. A repetition with the same Idempotency-Key gets the same card.";
  const key = request.idempotencyKey;
  // The row has the key, too: if this node dies before its reply, the repetition still adds no card.
  return await createCard(request.state, board.id, body, key === null ? null : `user ${user.id} ${key}`);
});

export const changeCard = cards.patch("/cards/{cardId}", {
  params: { cardId: Id },
  body: CardChange,
  response: Card,
  tool: true,
}, async function changeCard(request, { body, board, cardId, user }) {
  "Change some properties of a card, move it to another column, or assign it.";
  const { database, changes, mails } = request.state;
  return await database.transaction((publish) => {
    const before = database.get<Card>("SELECT * FROM cards WHERE id = ? AND board = ?", cardId, board.id);
    if (!before) throw new HTTPError(404, "No such card");
    const { title, text, column, assignee } = { ...before, ...body };
    const members = "SELECT users.* FROM users JOIN members ON members.user = id WHERE members.team = ? AND id = ?";
    const assigned = database.get<User>(members, board.team, assignee);
    if (assignee !== null && !assigned) throw new HTTPError(409, "The assignee is not a member of the team");
    const sql = 'UPDATE cards SET title = ?, text = ?, "column" = ?, assignee = ?, version = version + 1 WHERE id = ?';
    const card = database.get<Card>(`${sql} RETURNING *`, title, text, column, assignee, cardId)!;
    publish(changes, card);
    if (assigned && assignee !== before.assignee) {
      const text = `${user.name} has assigned you the card "${title}" of the board "${board.name}".\n`;
      publish(mails, { to: assigned.email, subject: `Card: ${title}`, text });
    }
    return card;
  });
});

export const exportCards = cards.get("/cards.csv", {
  response: Text("text/csv"),
}, async function exportCards(request, { board }) {
  "Export the cards of a board as CSV.";
  request.replyHeaders.set("content-disposition", `attachment; filename="board-${board.id}.csv"`);
  const rows = request.state.database.all<Card>(CARDS, board.id);
  const lines = rows.map(({ id, title, text, column }) => [`${id}`, title, text, column]);
  return [["id", "title", "text", "column"], ...lines].map((line) => `${line.map(csvField).join(",")}\r\n`).join("");
});

export const streamCards = cards.get("/events", {
  response: Events(Card),
}, async function streamCards(request, { board }) {
  "Send each card that was added or changed, on whichever node.";
  return SSE(request.app.topic(Changes).subscribe(), { filter: ({ data }) => data.board === board.id });
});

/** Creates a card, and the message about it, in one transaction. A key that exists returns its card. */
export async function createCard(
  { database, changes }: State,
  board: number,
  { title, text }: v.InferOutput<typeof NewCard>,
  key: string | null,
): Promise<Card> {
  return await database.transaction((publish) => {
    const sql =
      "INSERT INTO cards (board, title, text, request) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING RETURNING *";
    const card = database.get<Card>(sql, board, title, text, key);
    if (!card) return database.get<Card>("SELECT * FROM cards WHERE request = ?", key)!;
    publish(changes, card);
    return card;
  });
}

function csvField(value: string): string {
  // Spreadsheets run a cell that begins with one of these characters as a formula.
  const text = /^[=+\-@\t\r]/.test(value) ? `'${value}` : value;
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
