/** Registration, and signing in and out: what the page calls. */
import { HTTPError, Problem, Router } from "@webfw/core";
import * as v from "valibot";
import { recordSessions, session } from "@webfw/core/auth";
import { Account, Login, Registration } from "./models.ts";
import { state } from "./users.ts";

/**
 * The session of a user. The data is on the server, so that it is gone after signing out. It is in
 * memory: with `new App({ topics })`, it would outlive a restart, and several nodes would share it.
 */
export const visit = session(v.object({ userId: v.number() }), {
  store: recordSessions(),
  subject: ({ userId }) => userId,
  maxAge: "7d",
  renew: true,
});

const Taken = v.pipe(Problem, v.description("The address has an account already."));
const Wrong = v.pipe(Problem, v.description("The address or the password is wrong."));

/**
 * A hash of a password takes time and memory, and an attacker tries passwords, so both are limited
 * for each client.
 */
export const signIn = new Router({ state, tags: ["Sign-in"], rateLimit: { limit: 20, per: "1m" } });

signIn.post("/register", {
  body: Registration,
  deps: { visit },
  response: Account,
  responses: { 409: Taken },
  status: 201,
}, async function register(request, { body, visit }) {
  "Make an account, and sign in.";
  const account = await request.state.users.add(body);
  if (!account) throw new HTTPError(409, "The address has an account already");
  await visit.set({ userId: account.id });
  return account;
});

signIn.post("/login", {
  body: Login,
  deps: { visit },
  response: Account,
  responses: { 403: Wrong },
}, async function login(request, { body, visit }) {
  "Sign in.";
  const account = await request.state.users.verify(body);
  if (!account) throw new HTTPError(403, "The address or the password is wrong");
  await visit.set({ userId: account.id });
  return account;
});

signIn.post("/logout", { deps: { visit } }, async function logout(_request, { visit }) {
  "Sign out.";
  await visit.clear();
});
