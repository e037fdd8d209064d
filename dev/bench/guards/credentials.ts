// What both servers compare credentials with.

import type { User } from "../http/domain.ts";

/** The origin of a page that may read replies. */
export const ORIGIN = "https://shop.example";

/** Requests of one address in a minute: more than a load generator sends. */
export const MAX_REQUESTS = 1_000_000_000;

/** The bearer token of the user. */
export const TOKEN = "8f14e45fceea167a5a36dedd4bea2543";

/** The issuer and the audience of JSON Web Tokens. */
export const ISSUER = "https://id.example";
export const AUDIENCE = "users";

/** The name of the cookie of sessions, and what seals it. */
export const COOKIE = "__Host-session";
export const SECRET = "Zx3u0Yb1bq9mPp0m4jQ5rVw7sT2kLc8eNf6hGd1aXo0=";

const USERS = new Map<string, User>([[TOKEN, { id: 7, name: "Ada" }]]);

/** The user of a token. Asynchronous like a look-up in a real store. */
export async function findUser(token: string): Promise<User | undefined> {
  return USERS.get(token);
}
