// The page: sign-in, the list of boards, and one board with live cards and the users who have it open.

import { client, ProblemError } from "@webfw/core/client";
import type * as attachments from "../attachments.ts";
import type * as cards from "../cards.ts";
import type { Card } from "../models.ts";
import type * as presence from "../presence.ts";
import type * as signIn from "../sign_in.ts";
import type * as teams from "../teams.ts";

type Api = typeof attachments & typeof cards & typeof presence & typeof signIn & typeof teams;

const COLUMNS = ["to do", "doing", "done"] as const;
/** How long to wait before a lost socket is opened again, in milliseconds, at most. */
const PAUSE = 2_000;

const api = client<Api>("/v1");
const shown = new Map<number, { version: number; element: HTMLElement }>();

onSubmit("sign-in", async ({ email = "", password = "", name = "" }) => {
  if (name === "") await api.post("/login", { body: { email, password } });
  else await api.post("/register", { body: { email, password, name } });
  location.reload();
});
onSubmit("new-board", async ({ name = "" }) => {
  const team = await api.post("/teams", { body: { name } });
  const board = await api.post("/teams/{teamId}/boards", { teamId: team.id, body: { name } });
  location.hash = `${board.id}`;
});

try {
  const teams = await api.get("/teams");
  byId("new-board").hidden = false;
  for (const { id } of teams) {
    const { boards } = await api.get("/teams/{teamId}", { teamId: id });
    for (const board of boards) addLink(board.id, board.name);
  }
  addEventListener("hashchange", () => location.reload());
  const boardId = Number(location.hash.slice(1));
  if (boardId > 0) await open(boardId);
} catch (error) {
  if (!(error instanceof ProblemError) || error.status !== 401) throw error;
  byId("sign-in").hidden = false;
}

async function open(boardId: number): Promise<void> {
  const { name, cards, head } = await api.get("/boards/{boardId}", { boardId });
  byId("name").textContent = name;
  byId("board").hidden = false;
  byId("columns").replaceChildren(...COLUMNS.map((column) => {
    const section = document.createElement("section");
    section.id = column;
    section.append(Object.assign(document.createElement("h3"), { textContent: column }));
    return section;
  }));
  cards.forEach(show);
  onSubmit("new-card", async ({ title = "" }) => {
    const headers = { "idempotency-key": crypto.randomUUID() };
    show(await api.post("/boards/{boardId}/cards", { boardId, body: { title } }, { headers }));
  });
  void watchPresence(boardId);
  const events = api.events("/boards/{boardId}/events", { boardId }, { headers: { "last-event-id": head } });
  for await (const event of events) {
    if (event.gap) return location.reload();
    show(event.data);
  }
}

/** Shows the users who have the board open. A socket does not reconnect by itself. */
async function watchPresence(boardId: number): Promise<void> {
  for (;;) {
    try {
      const socket = await api.websocket("/boards/{boardId}/online", { boardId });
      for await (const names of socket) byId("online").textContent = names.join(", ");
    } catch (error) {
      if (error instanceof ProblemError && error.status < 500) throw error;
    }
    await new Promise((resolve) => setTimeout(resolve, Math.random() * PAUSE));
  }
}

/** Shows a card, unless a newer version of it is shown: replies and events may arrive in any order. */
function show(card: Card): void {
  const before = shown.get(card.id);
  if (before && before.version >= card.version) return;
  const element = before?.element ?? document.createElement("article");
  const next = COLUMNS[COLUMNS.indexOf(card.column) + 1];
  const move = Object.assign(document.createElement("button"), { textContent: next, disabled: !next });
  move.onclick = async () => {
    show(
      await api.patch("/boards/{boardId}/cards/{cardId}", {
        boardId: card.board,
        cardId: card.id,
        body: { column: next! },
      }),
    );
  };
  element.replaceChildren(card.title, " ", move);
  byId(card.column).append(element);
  shown.set(card.id, { version: card.version, element });
}

function addLink(id: number, name: string): void {
  const link = Object.assign(document.createElement("a"), { href: `#${id}`, textContent: name });
  const item = document.createElement("li");
  item.append(link);
  byId("boards").append(item);
}

function onSubmit(id: string, send: (fields: Readonly<Record<string, string>>) => Promise<void>): void {
  const form = byId(id) as HTMLFormElement;
  form.onsubmit = async (event) => {
    event.preventDefault();
    byId("problem").textContent = "";
    try {
      await send(Object.fromEntries(new FormData(form)) as Record<string, string>);
      form.reset();
    } catch (error) {
      if (!(error instanceof ProblemError)) throw error;
      byId("problem").textContent = error.issues[0]?.message ?? error.problem.detail;
    }
  };
}

function byId(id: string): HTMLElement {
  return document.getElementById(id)!;
}
