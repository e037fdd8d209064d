// Sessions in a browser: it takes the cookie as it is set by default, sends it back, and comes back
// to the page that it asked for.

import { App, Form, html, HTTPError, redirect, Router } from "@webfw/core";
import { memorySessions, session, type SessionOptions } from "@webfw/core/auth";
import { assertEquals } from "@std/assert";
import * as v from "valibot";
import { CapturedLog } from "../spec/support/captured_log.ts";
import { Serving } from "../spec/support/serving.ts";
import { browserTest } from "./support/browser.ts";

const ICON = "<link rel=icon href='data:,'>";

function shop(options: SessionOptions): App {
  const visit = session(v.object({ name: v.string() }), options);
  const app = new App();
  const next = v.fallback(v.pipe(v.string(), v.regex(/^\/(?![/\\])[^\\]*$/)), "/account");
  app.get("/login", async () => html(`${ICON}<title>Login</title><form method=post><input name=name><button>In`));
  app.post("/login", { query: { next }, form: Form(v.object({ name: v.string() })), deps: { visit } }, async (
    _request,
    { next, form, visit },
  ) => {
    await visit.set({ name: form.name });
    if (form.name === "failing") throw new HTTPError(503);
    return redirect(next);
  });
  app.post("/logout", { deps: { visit } }, async (_request, { visit }) => {
    await visit.clear();
    return redirect("/login");
  });
  const account = new Router({ prefix: "/account", deps: { user: visit.required({ redirect: "/login" }) } });
  account.get(
    "/{rest...}",
    async (request, { user }) =>
      html(`${ICON}<title>${user.data.name} ${request.url.search}</title><form method=post action=/logout><button>Out`),
  );
  account.get("", async (_request, { user }) => html(`${ICON}<title>${user.data.name}</title>`));
  app.include(account);
  return app;
}

for (
  const [where, options] of [
    ["a sealed cookie", { secret: "0b72d3c1".repeat(4) }],
    ["memorySessions()", { store: memorySessions() }],
  ] as const
) {
  browserTest(`A user signs in and out, with ${where}`, async (browser) => {
    await using serving = await Serving.start(shop(options));
    const { origin } = serving;
    const context = await browser.newContext();
    const page = await context.newPage();
    await page.goto(`${origin}/account/orders?page=2&q=a%20b`);
    assertEquals(page.url(), `${origin}/login?next=%2Faccount%2Forders%3Fpage%3D2%26q%3Da%2520b`);
    await page.fill("input", "Ada");
    await page.click("button");
    await page.waitForURL(`${origin}/account/**`);
    assertEquals([page.url(), await page.title()], [`${origin}/account/orders?page=2&q=a%20b`, "Ada ?page=2&q=a%20b"]);
    const [cookie] = await context.cookies();
    assertEquals(
      [cookie?.name, cookie?.httpOnly, cookie?.secure, cookie?.sameSite, cookie?.path],
      ["__Host-session", true, true, "Lax", "/"],
    );
    assertEquals(
      await page.evaluate(() => (globalThis as unknown as { document: { cookie: string } }).document.cookie),
      "",
    );

    await page.click("button");
    await page.waitForURL(`${origin}/login`);
    assertEquals(await context.cookies(), []);
    // A fetch of a page gets the status, and no page to sign in at.
    assertEquals(await page.evaluate(async () => (await fetch("/account")).status), 401);

    await page.goto(`${origin}/login?next=//attacker.example/`);
    await page.fill("input", "Eve");
    await page.click("button");
    await page.waitForURL(`${origin}/account`);
    assertEquals(await page.title(), "Eve");
    await context.close();
  });
}

browserTest(
  "The cookie of an error reply is kept; a Secure one over http from another host is not",
  async (browser) => {
    using log = new CapturedLog();
    await using serving = await Serving.start(shop({ secret: "0b72d3c1".repeat(4) }));
    const context = await browser.newContext();
    const page = await context.newPage();
    for (const [host, names] of [["127.0.0.1", ["__Host-session"]], ["shop.example", []]] as const) {
      await page.goto(`http://${host}:${serving.port}/login`);
      await page.fill("input", "failing");
      const [reply] = await Promise.all([
        page.waitForResponse((reply) => reply.request().method() === "POST"),
        page.click("button"),
      ]);
      assertEquals(reply.status(), 503);
      assertEquals((await context.cookies(`https://${host}`)).map(({ name }) => name), [...names]);
    }
    await context.close();
    assertEquals(log.lines.filter((line) => line.includes("Browsers drop the session cookie")).length, 1);
  },
);
