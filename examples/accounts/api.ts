/** The API for programs. Every route needs an access token. */
import { HTTPError, Router } from "@webfw/core";
import type { JwtGuard } from "@webfw/core/auth";
import { Account } from "./models.ts";
import type { Claims } from "./tokens.ts";
import { type State, state } from "./users.ts";

/** Makes the routes. */
export function api(member: JwtGuard<Claims>): Router<State> {
  const router = new Router({
    prefix: "/api",
    state,
    deps: { member },
    tags: ["API"],
    rateLimit: { limit: 60, per: "1m", by: member, key: ({ sub }) => `${sub}` },
  });

  router.get("/account", { response: Account, tool: true }, async function getAccount(request, { member }) {
    "Get the account that the token is for.";
    const account = request.state.users.find(member.sub);
    if (!account) throw new HTTPError(404, "The account is deleted");
    return account;
  });
  return router;
}
