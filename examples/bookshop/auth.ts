/** Users, and their permissions. */
import { dependency, HTTPError, type HttpRequest } from "@webfw/core";
import { bearer } from "@webfw/core/auth";
import { type State, state } from "./database.ts";
import { currentShop } from "./shops.ts";
import { hashToken } from "./token.ts";

/** Who has signed in. */
export interface User {
  readonly id: number;
  readonly name: string;
  /** The shop where they are a clerk. */
  readonly shop_id: number | null;
}

/** The owner of the bearer token, or a reply 401. */
export const currentUser = bearer(
  async (token, request: HttpRequest<State>) => {
    using db = request.state.database.lend();
    return db.first<User>`SELECT id, name, shop_id FROM users WHERE token_hash = ${hashToken(token)}`;
  },
  { description: "The token of a user: `ada` is a customer, `grace` a clerk." },
);

/** The same, as a clerk of the shop in the path; 403 for everyone else. */
export const clerk = dependency(
  { state, deps: { user: currentUser, shop: currentShop } },
  async (_request, { user, shop }) => {
    if (user.shop_id === shop.id) return user;
    throw new HTTPError(403, `Only clerks of ${shop.name} may do this`);
  },
);
