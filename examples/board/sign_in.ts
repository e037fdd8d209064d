/** Registration, signing in and out, and the guard of all other routes. */
import { anySecurity, dependency, HTTPError, Router } from "@webfw/core";
import { bearer, recordSessions, session } from "@webfw/core/auth";
import { createHash, randomBytes } from "node:crypto";
import * as v from "valibot";
import { hashPassword, isPassword } from "../accounts/passwords.ts";
import { Id, Login, Registration, User } from "./models.ts";
import { state } from "./state.ts";

/** The session of a browser. It is in the store of the topics, so all nodes know it. */
export const visit = session(v.object({ userId: Id }), {
  store: recordSessions(),
  subject: ({ userId }) => userId,
});
const visitor = dependency({ state, deps: { visit: visit.required() } }, async (request, { visit }) => {
  const user = request.state.database.get<User>("SELECT * FROM users WHERE id = ?", visit.data.userId);
  if (!user) throw new HTTPError(401, "The user was removed");
  return user;
});

const token = bearer(async (token) => token, { description: "From POST /v1/tokens" });
const program = dependency({ state, deps: { token } }, async (request, { token }) => {
  const sql = "SELECT users.* FROM tokens JOIN users ON users.id = tokens.user WHERE hash = ?";
  const user = request.state.database.get<User>(sql, hashOf(token));
  if (!user) throw new HTTPError(401, "The token is not valid", { headers: { "www-authenticate": "Bearer" } });
  return user;
});

/** The signed-in user: of a browser by its session, of a program or an agent by its token. */
export const user = anySecurity(visitor, program);

/** A hash of a password costs time and memory, and attackers guess passwords: so both are limited. */
export const signIn = new Router({ state, tags: ["Sign-in"], rateLimit: { limit: 20, per: "1m" } });

/** The hash of a random password: an unknown address takes as long as a wrong password. */
let unknown: Promise<Uint8Array> | undefined;

export const register = signIn.post("/register", {
  body: Registration,
  deps: { visit },
  response: User,
  status: 201,
}, async function register(request, { body, visit }) {
  "Register, and sign in.";
  const sql = "INSERT INTO users (email, name, password) VALUES (?, ?, ?) ON CONFLICT DO NOTHING RETURNING *";
  const user = request.state.database.get<User>(sql, body.email, body.name, await hashPassword(body.password));
  if (!user) throw new HTTPError(409, "The address is already registered");
  await visit.set({ userId: user.id });
  return user;
});

export const login = signIn.post("/login", {
  body: Login,
  deps: { visit },
  response: User,
}, async function login(request, { body: { email, password }, visit }) {
  "Sign in.";
  const sql = "SELECT * FROM users WHERE email = ?";
  const user = request.state.database.get<User & { password: Uint8Array }>(sql, email);
  unknown ??= hashPassword(crypto.randomUUID());
  const isRight = await isPassword(password, user?.password ?? await unknown);
  if (!user || !isRight) throw new HTTPError(403, "The address or the password is wrong");
  await visit.set({ userId: user.id });
  return user as User;
});

export const logout = signIn.post("/logout", { deps: { visit }, status: 204 }, async function logout(_, { visit }) {
  "Sign out.";
  await visit.clear();
});

export const createToken = signIn.post("/tokens", {
  deps: { user },
  response: v.object({ token: v.string() }),
  status: 201,
}, async function createToken(request, { user }) {
  "Create a token for a program or an agent. It is shown once: the database has only its hash.";
  request.replyHeaders.set("cache-control", "no-store");
  const token = randomBytes(32).toString("base64url");
  request.state.database.run("INSERT INTO tokens (hash, user) VALUES (?, ?)", hashOf(token), user.id);
  return { token };
});

/** The token is random, so a fast hash is enough. */
function hashOf(token: string): string {
  return createHash("sha256").update(token).digest("hex");
}
