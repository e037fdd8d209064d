/** Webhooks in both directions, signed by Standard Webhooks (https://www.standardwebhooks.com). */
import { type App, HTTPError, Router } from "@webfw/core";
import { sign, signed } from "@webfw/core/auth";
import * as v from "valibot";
import { createCard } from "./cards.ts";
import { Card, Id, NewCard } from "./models.ts";
import { Changes, type State, state } from "./state.ts";

/** Makes the route by which other services add cards, such as one for each alarm. */
export function inbox(secret: string): Router<State> {
  const sender = signed({ scheme: "standard", secret });
  const router = new Router({ prefix: "/hooks", state, deps: { sender }, tags: ["Webhooks"] });
  router.post("/cards", {
    body: v.object({ board: Id, ...NewCard.entries }),
    response: Card,
    status: 201,
  }, async function receiveCard(request, { body, sender }) {
    "Add a card. A webhook that is sent again adds no second card.";
    const { state } = request;
    if (!state.database.get("SELECT id FROM boards WHERE id = ?", body.board)) {
      throw new HTTPError(404, "No such board");
    }
    return await createCard(state, body.board, body, `hook ${sender.id}`);
  });
  return router;
}

/** Sends each change to the webhook of its team, in the order of each board. */
export function sendHooks(app: App<State>): void {
  app.topic(Changes).consume("hooks", {
    key: ({ data }) => `${data.board}`,
    timeout: "30s",
    retry: { attempts: 8, backoff: "5s" },
  }, async ({ id, data }, { state, signal }) => {
    const sql = "SELECT hook_url AS url, hook_secret AS secret FROM teams JOIN boards ON boards.team = teams.id " +
      "WHERE boards.id = ? AND hook_url IS NOT NULL";
    const hook = state.database.get<{ url: string; secret: string }>(sql, data.board);
    if (!hook) return;
    const body = JSON.stringify({ type: "card.saved", timestamp: new Date().toISOString(), data });
    const signed = sign(body, { scheme: "standard", secret: hook.secret, id });
    const headers = { "content-type": "application/json", ...signed };
    const response = await fetch(hook.url, { method: "POST", headers, body, signal, redirect: "manual" });
    await response.body?.cancel();
    if (!response.ok) throw new Error(`The receiver has replied ${response.status}`);
  });
}
