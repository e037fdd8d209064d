/** Webhooks in both directions, signed by Standard Webhooks (https://www.standardwebhooks.com). */
import { type App, HTTPError, Router } from "@webfw/core";
import { signed } from "@webfw/core/auth";
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

const CardSaved = v.pipe(
  v.object({ type: v.literal("card.saved"), timestamp: v.pipe(v.string(), v.isoTimestamp()), data: Card }),
  v.title("CardSaved"),
);

/** Sends each change to the webhook of its team. */
export function sendHooks(app: App<State>): void {
  const saved = app.webhook("card.saved", {
    body: CardSaved,
    summary: "A card was added or changed",
    description: "Changes may come in another order: of two with one card, the newer one has the higher `version`.",
    tags: ["Webhooks"],
  });
  app.topic(Changes).consume("hooks", async ({ id, time, data }, { state }) => {
    const sql = "SELECT hook_url AS url, hook_secret AS secret FROM teams JOIN boards ON boards.team = teams.id " +
      "WHERE boards.id = ? AND hook_url IS NOT NULL";
    const hook = state.database.get<{ url: string; secret: string }>(sql, data.board);
    if (!hook) return;
    const body = { type: "card.saved", timestamp: time.toISOString(), data } as const;
    // By its id, a change that is handled twice is sent once.
    await saved.send(hook.url, body, { secret: hook.secret, id });
  });
}
