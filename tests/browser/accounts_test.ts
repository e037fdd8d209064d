// The accounts, as somebody who registers sees them, and as a program with a token does.

import { assert, assertEquals, assertMatch } from "@std/assert";
import { generateKeyPair } from "jose";
import { join } from "node:path";
import type { Page } from "npm:playwright-core@^1.65.1";
import { accounts } from "../../examples/accounts/accounts.ts";
import { Serving } from "../spec/support/serving.ts";
import { browserTest } from "./support/browser.ts";
import { WatchedPage } from "./support/watched_page.ts";

const PASSWORD = "correct horse battery staple";

/** The service with a new database. Disposing of it removes the database. */
class Accounts implements AsyncDisposable {
  readonly serving: Serving;
  readonly #folder: string;

  private constructor(serving: Serving, folder: string) {
    this.serving = serving;
    this.#folder = folder;
  }

  static async start(): Promise<Accounts> {
    const folder = await Deno.makeTempDir({ prefix: "webfw_accounts_" });
    const keys = await generateKeyPair("ES256", { extractable: true });
    const app = accounts({ file: join(folder, "accounts.sqlite"), issuer: "https://accounts.example", keys });
    return new Accounts(await Serving.start(app), folder);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.serving[Symbol.asyncDispose]();
    await Deno.remove(this.#folder, { recursive: true });
  }
}

async function fill(page: Page, form: "Sign in" | "New here?", fields: Record<string, string>): Promise<void> {
  const region = page.getByRole("form", { name: form });
  for (const [label, value] of Object.entries(fields)) await region.getByLabel(label).fill(value);
  await region.getByRole("button").click();
}

browserTest("Somebody registers, makes a token that the API takes, signs out, and signs in again", async (browser) => {
  await using service = await Accounts.start();
  const { origin } = service.serving;
  await using watched = await WatchedPage.open(browser, origin);
  const { page } = watched;
  assertEquals(page.url(), `${origin}/login?next=%2F`);

  await fill(page, "New here?", { Name: "Ada <b>L</b>", Email: "Ada@Example.org", Password: PASSWORD });
  await page.getByText("You are signed in.").waitFor();
  const [cookie] = await page.context().cookies();
  assertEquals([cookie?.name, cookie?.httpOnly, cookie?.secure], ["__Host-session", true, true]);

  await page.getByRole("button", { name: "Create a token" }).click();
  await page.getByText("Ada <b>L</b>, ada@example.org").waitFor();
  const token = await page.locator("#token").textContent();
  const account = await fetch(`${origin}/api/account`, { headers: { authorization: `Bearer ${token}` } });
  assertEquals(await account.json(), { id: 1, email: "ada@example.org", name: "Ada <b>L</b>" });

  await page.getByRole("button", { name: "Sign out" }).click();
  await page.getByRole("form", { name: "Sign in" }).waitFor();
  const replayed = await fetch(origin, {
    headers: { accept: "text/html", cookie: `${cookie!.name}=${cookie!.value}` },
    redirect: "manual",
  });
  assertEquals([replayed.status, replayed.headers.get("location")], [303, "/login?next=%2F"]);
  await replayed.body?.cancel();
  assertEquals(watched.complaints, []);

  await fill(page, "Sign in", { Email: "ada@example.org", Password: "wrong horse battery" });
  await page.getByText("The address or the password is wrong").waitFor();
  await fill(page, "Sign in", { Email: "ada@example.org", Password: PASSWORD });
  await page.getByText("You are signed in.").waitFor();
});

browserTest("Until the script of the page works, no form puts a password into the URL", async (browser) => {
  await using service = await Accounts.start();
  const page = await browser.newPage();
  const held = Promise.withResolvers<void>();
  await page.route("**/login.js", async (route) => {
    await held.promise;
    await route.continue();
  });
  await page.goto(`${service.serving.origin}/login`, { waitUntil: "commit" });
  const form = page.getByRole("form", { name: "Sign in" });
  await form.getByLabel("Email").fill("ada@example.org");
  await form.getByLabel("Password").fill(PASSWORD);
  await form.getByLabel("Password").press("Enter");
  assert(await form.getByRole("button").isDisabled());
  held.resolve();
  await form.getByRole("button").click();
  await page.getByText("The address or the password is wrong").waitFor();
  assertEquals(page.url(), `${service.serving.origin}/login`);
});

browserTest("A page of another site can neither sign somebody in nor use the session", async (browser) => {
  await using service = await Accounts.start();
  const { origin } = service.serving;
  await using watched = await WatchedPage.open(browser, origin);
  const { page } = watched;
  await fill(page, "New here?", { Name: "Ada", Email: "ada@example.org", Password: PASSWORD });
  await page.getByText("You are signed in.").waitFor();

  await using other = await Accounts.start();
  const foreign = await page.context().newPage();
  await foreign.goto(`${other.serving.origin.replace("127.0.0.1", "localhost")}/login`);
  const read = (path: string, method: string) =>
    foreign.evaluate(
      ([url, method]) => fetch(url!, { method: method!, credentials: "include" }).then(() => "read", () => "refused"),
      [`${origin}${path}`, method],
    );
  assertEquals(await read("/tokens", "POST"), "refused");
  assertEquals(await read("/logout", "POST"), "refused");
  await page.reload();
  await page.getByText("You are signed in.").waitFor();
});

Deno.test("Passwords can be tried 20 times a minute, and a token has its own limit", async () => {
  await using service = await Accounts.start();
  const { origin } = service.serving;
  const post = (path: string, body: unknown) =>
    fetch(`${origin}${path}`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(body),
    });
  const statuses: number[] = [];
  for (let turn = 0; turn < 21; turn++) {
    const response = await post("/login", { email: "no address" });
    statuses.push(response.status);
    if (turn === 20) assertMatch(response.headers.get("retry-after") ?? "", /^\d+$/);
    await response.body?.cancel();
  }
  assertEquals(statuses, [...Array(20).fill(422), 429]);
  const refused = await fetch(`${origin}/api/account`, { headers: { authorization: "Bearer x.y.z" } });
  assertEquals(refused.status, 401);
  assert(refused.headers.get("www-authenticate")?.startsWith("Bearer"));
  await refused.body?.cancel();
});

Deno.test("The accounts publish the key of their tokens, and nothing else of it", async () => {
  await using service = await Accounts.start();
  const { keys } = await (await fetch(`${service.serving.origin}/.well-known/jwks.json`)).json();
  assertEquals(keys.map((key: object) => Object.keys(key).sort()), [["alg", "crv", "kty", "use", "x", "y"]]);
});
