/** Routes for the operator of the service. */
import { HTTPError, Router } from "@webfw/core";
import { bearer, equal } from "@webfw/core/auth";
import { randomBytes } from "node:crypto";
import * as v from "valibot";
import { Id, User } from "./models.ts";
import { type State, state } from "./state.ts";

/** Makes the routes. All of them need the token of the operator. */
export function admin(token: string): Router<State> {
  const operator = bearer(async (sent) => equal(sent, token), { scheme: "operator" });
  const router = new Router({ prefix: "/admin", state, deps: { operator }, tags: ["Administration"] });

  router.get("/users", { response: v.array(User) }, async function listUsers(request) {
    "List all users.";
    return request.state.database.all<User>("SELECT * FROM users ORDER BY id");
  });

  router.delete("/users/{user}", { params: { user: Id }, status: 204 }, async function removeUser(request, { user }) {
    "Remove a user. The sessions and tokens of the user are invalid from then on.";
    if (request.state.database.run("DELETE FROM users WHERE id = ?", user) === 0) {
      throw new HTTPError(404, "No such user");
    }
  });

  router.put("/teams/{team}/hook", {
    params: { team: Id },
    body: v.object({ url: v.pipe(v.string(), v.url()) }),
    response: v.object({ secret: v.string() }),
  }, async function setHook(request, { team, body }) {
    "Set the URL of a team's webhook. The reply has the secret of the signatures.";
    const secret = `whsec_${randomBytes(32).toString("base64")}`;
    const sql = "UPDATE teams SET hook_url = ?, hook_secret = ? WHERE id = ?";
    if (request.state.database.run(sql, body.url, secret, team) === 0) throw new HTTPError(404, "No such team");
    return { secret };
  });
  return router;
}
