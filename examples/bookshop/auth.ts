/** Users, and their permissions. */
import { dependency, HTTPError, type SecurityRequirement } from "@webfw/core";
import * as v from "valibot";
import { connection, state } from "./database.ts";
import { currentShop } from "./shops.ts";
import { bearerToken, hashToken } from "./token.ts";

/** Who has signed in. */
export interface User {
  readonly id: number;
  readonly name: string;
  /** The shop where they are a clerk. */
  readonly shop_id: number | null;
}

const security: SecurityRequirement = {
  bearer: {
    type: "http",
    scheme: "bearer",
    description: "The token of a user: `ada` is a customer, `grace` a clerk.",
  },
};

/** The owner of the bearer token, or a reply 401. */
export const currentUser = dependency(
  {
    state,
    headers: { authorization: v.optional(v.string(), "") },
    security,
    deps: { db: connection },
  },
  async (_request, { headers, db }) => {
    const token = bearerToken(headers.authorization);
    const user = token && db.first<User>`SELECT id, name, shop_id FROM users WHERE token_hash = ${hashToken(token)}`;
    if (user) return user;
    throw new HTTPError(401, "Send the token of a user", { headers: { "www-authenticate": "Bearer" } });
  },
);

/** The same, as a clerk of the shop in the path; 403 for everyone else. */
export const clerk = dependency(
  { state, security, deps: { user: currentUser, shop: currentShop } },
  async (_request, { user, shop }) => {
    if (user.shop_id === shop.id) return user;
    throw new HTTPError(403, `Only clerks of ${shop.name} may do this`);
  },
);
