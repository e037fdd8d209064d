// The recipe of a sign-in by OpenID Connect, with a real authorization server and browsers on sockets.

import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import type { App } from "@webfw/core";
import { pathToFileURL } from "node:url";
import { CapturedLog } from "../spec/support/captured_log.ts";
import { Serving } from "../spec/support/serving.ts";
import { AuthorizationServer } from "../support/authorization_server.ts";
import { Guide } from "../../dev/tools/guide.ts";

/** A browser: its tabs share cookies. */
class Browser {
  readonly cookies = new Map<string, string>();
  readonly #origin: string;

  constructor(origin: string) {
    this.#origin = origin;
  }

  async open(path: string | URL): Promise<Response> {
    const cookie = Array.from(this.cookies, ([name, value]) => `${name}=${value}`).join("; ");
    const headers = { accept: "text/html", cookie };
    const response = await fetch(new URL(path, this.#origin), { headers, redirect: "manual" });
    for (const line of response.headers.getSetCookie()) {
      const [, name, value] = /^([^=]+)=([^;]*)/.exec(line)!;
      if (line.includes("Expires=Thu, 01 Jan 1970")) this.cookies.delete(name!);
      else this.cookies.set(name!, value!);
    }
    return response;
  }

  /** Opens a page that redirects, and gives the address. */
  async leave(path: string | URL): Promise<string> {
    const response = await this.open(path);
    await response.body?.cancel();
    assertEquals(response.status, 303);
    return response.headers.get("location")!;
  }

  /** Whether somebody has signed in. */
  async page(): Promise<unknown> {
    const response = await this.open("/account");
    return response.status === 200 ? await response.json() : (await response.body?.cancel(), response.status);
  }
}

/** Serves the recipe against an authorization server of this machine. */
async function serveRecipe(guide: Guide, server: AuthorizationServer): Promise<Serving> {
  const step = guide.steps.find(({ name, programs }) => name.includes("oidc_login") && programs.has("main.ts"))!;
  // A native client may have any port of this machine (RFC 8252, section 7.3).
  const metadata = { application_type: "native", redirect_uris: ["http://127.0.0.1/callback"] };
  const client = await server.registerWithSecret(metadata);
  const given = { OIDC_ISSUER: server.issuer, OIDC_CLIENT_ID: client.id, OIDC_CLIENT_SECRET: client.secret };
  for (const [name, value] of Object.entries(given)) Deno.env.set(name, value);
  const { app } = await import(pathToFileURL(guide.fileOf(step, "main.ts")).href) as { app: App };
  for (const name of Object.keys(given)) Deno.env.delete(name);
  return await Serving.start(app);
}

Deno.test("two tabs that begin to sign in together come back signed in; another browser does not", async () => {
  await using guide = await Guide.open();
  await using server = await AuthorizationServer.start();
  await using serving = await serveRecipe(guide, server);
  using log = new CapturedLog();

  const browser = new Browser(serving.origin);
  assertEquals(await browser.leave("/account"), "/login?next=%2Faccount");
  const pages = ["/account", "/account?tab=2"];
  const away = await Promise.all(pages.map((page) => browser.leave(`/login?next=${encodeURIComponent(page)}`)));
  const back = await Promise.all(away.map((address) => server.authorize(address)));
  assertEquals(browser.cookies.size, 2);

  // The reply to the attempt of somebody else signs in nobody.
  const victim = new Browser(serving.origin);
  const refused = await victim.open(back[0]!);
  assertEquals([refused.status, victim.cookies.size, await victim.page()], [400, 0, 303]);
  assertStringIncludes(await refused.text(), "begin again");

  // The tab that began last comes back first.
  for (const index of [1, 0]) {
    assertEquals(await browser.leave(back[index]!), pages[index]);
    assertEquals(await browser.page(), { sub: "ada" });
  }
  assertEquals([...browser.cookies.keys()], ["__Host-session"]);

  // A code counts once, and a page of a stranger cannot be the next one.
  const again = await browser.open(back[0]!);
  assertEquals(again.status, 400);
  await again.body?.cancel();
  const other = await server.authorize(await browser.leave("/login?next=//evil.example"));
  assertEquals(await browser.leave(other), "/account");

  // What the provider refuses is no error of the server.
  const denied = new URL(back[0]!);
  const { searchParams } = new URL(await browser.leave("/login"));
  denied.search = new URLSearchParams({ error: "access_denied", state: searchParams.get("state")! }).toString();
  const denial = await browser.open(denied);
  assertEquals(denial.status, 400);
  assertStringIncludes(await denial.text(), "did not sign you in");

  // Attempts that are never finished do not fill the headers of a browser, and the newest one counts.
  const longest = `/account?tab=${"&".repeat(187)}`;
  let newest = "";
  for (let tab = 0; tab < 12; tab++) newest = await browser.leave(`/login?next=${encodeURIComponent(longest)}`);
  assert([...browser.cookies].join("; ").length < 8_000);
  assertEquals(await browser.leave(await server.authorize(newest)), longest);
  assert(!log.text.includes("ERROR"), log.text);
});
