// Tokens that a form gives out, their scopes, and passwords by HTTP.
import { App, dependency, Form, HTTPError } from "@webfw/core";
import { basic, equal, jwt } from "@webfw/core/auth";
import { TestClient } from "@webfw/core/testing";
import { assert, assertEquals } from "@std/assert";
import * as v from "valibot";
import { SignJWT } from "jose";

const secret = crypto.getRandomValues(new Uint8Array(32));
const issuer = "https://books.example";
const users = new Map([["ada", { name: "ada", disabled: false }], ["bob", { name: "bob", disabled: true }]]);

const member = jwt({
  issuer,
  audience: issuer,
  keys: secret,
  algorithms: ["HS256"],
  claims: v.object({ sub: v.string(), scope: v.optional(v.string()) }),
  passwordFlow: { tokenUrl: "/token", scopes: { books: "Read books" } },
});
const reader = member.withScopes("books");
const active = dependency({ deps: { member } }, async (_request, { member }) => {
  const user = users.get(member.sub);
  if (!user || user.disabled) throw new HTTPError(403, "The user is not active");
  return user;
});
const staff = basic(async (name, password) => equal(password, "mellon") && { name }, { realm: "Staff" });

const Login = v.object({
  username: v.string(),
  password: v.pipe(v.string(), v.maxLength(200)),
  scope: v.optional(v.string(), ""),
});

const app = new App();
app.post("/token", { form: Form(Login), rateLimit: { limit: 5, per: "1m" } }, async (_request, { form }) => {
  // In place of the hashes of the users' passwords.
  if (!users.has(form.username) || !equal(form.password, "secret")) throw new HTTPError(400, "Wrong name or password");
  const token = new SignJWT({ scope: form.scope }).setProtectedHeader({ alg: "HS256" }).setExpirationTime("30m");
  const access_token = await token.setIssuer(issuer).setAudience(issuer).setSubject(form.username).sign(secret);
  return { access_token, token_type: "bearer" };
});
app.get("/me", { deps: { active } }, async (_request, { active }) => active.name);
app.get("/me/books", { deps: { reader } }, async (_request, { reader }) => [`a book of ${reader.sub}`]);
app.get("/staff", { deps: { staff } }, async (_request, { staff }) => staff.name);

Deno.test("security: a form gives out a token, and its user and scopes are checked", async () => {
  await using client = new TestClient(app);
  const signIn = async (username: string, scope = "") => {
    const body = new URLSearchParams({ username, password: "secret", scope });
    const { access_token } = await client.post("/token", { body }).json<{ access_token: string }>();
    return { headers: { authorization: `Bearer ${access_token}` } };
  };
  await client.post("/token", { body: new URLSearchParams({ username: "ada", password: "guess" }) }).problem(400);
  await client.get("/me").problem(401);
  assertEquals(await client.get("/me", await signIn("ada")).json(), "ada");
  await client.get("/me", await signIn("bob")).problem(403);
  await client.get("/me/books", await signIn("ada")).problem(403);
  assertEquals(await client.get("/me/books", await signIn("ada", "books")).json(), ["a book of ada"]);
  const schemes = Object.values(app.openapi().components.securitySchemes!);
  assert(schemes.some((scheme) => "flows" in scheme && scheme.flows.password?.tokenUrl.endsWith("/token")));
});

Deno.test("security: names and passwords by HTTP Basic", async () => {
  await using client = new TestClient(app);
  assertEquals((await client.get("/staff")).headers.get("www-authenticate")?.startsWith('Basic realm="Staff"'), true);
  const headers = { authorization: `Basic ${btoa("ada:mellon")}` };
  assertEquals(await client.get("/staff", { headers }).json(), "ada");
});
