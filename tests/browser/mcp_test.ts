// The agent endpoint as scripts of pages see it: pages of listed origins, and others.

import { App, html } from "@webfw/core";
import { assertEquals } from "@std/assert";
import type { Browser } from "npm:playwright-core@^1.65.1";
import * as v from "valibot";
import { Serving } from "../spec/support/serving.ts";
import { browserTest } from "./support/browser.ts";

const CALL = {
  jsonrpc: "2.0",
  id: 1,
  method: "tools/call",
  params: { name: "add", arguments: { a: 2, b: 3 } },
};

/** The result that a script gets from calling a tool. */
async function callFrom(browser: Browser, page: string, endpoint: string, headers: Record<string, string>) {
  const context = await browser.newContext();
  const tab = await context.newPage();
  await tab.goto(page);
  return await tab.evaluate(async ({ endpoint, headers, body }) => {
    try {
      const response = await fetch(endpoint, { method: "POST", headers, body });
      const { status } = response;
      return { status, challenge: response.headers.get("www-authenticate"), text: await response.text() };
    } catch (error) {
      return { refused: (error as Error).name };
    }
  }, { endpoint, headers, body: JSON.stringify(CALL) });
}

browserTest("A page of a listed origin calls a tool by fetch, one of another origin cannot", async (browser) => {
  const pages = new App();
  pages.get("/", async () => html("<!doctype html><link rel=icon href='data:,'><title>Assistant</title>"));
  await using site = await Serving.start(pages);
  const trusted = `http://assistant.example:${site.port}`;

  let calls = 0;
  const app = new App({ mcp: { origins: [trusted] } });
  app.middleware(async (request, next) => {
    if (request.headers.get("authorization") === "Bearer ada") return await next(request);
    return new Response("Sign in", { status: 401, headers: { "www-authenticate": "Bearer" } });
  });
  app.get("/add", { query: { a: v.number(), b: v.number() }, tool: true }, async function add(_request, { a, b }) {
    calls++;
    return { sum: a + b };
  });
  await using serving = await Serving.start(app);
  const endpoint = `${serving.origin}/mcp`;
  const headers = {
    "content-type": "application/json",
    "accept": "application/json, text/event-stream",
    "mcp-protocol-version": "2025-06-18",
    "authorization": "Bearer ada",
  };

  const called = await callFrom(browser, trusted, endpoint, headers);
  assertEquals([called.status, JSON.parse(called.text!).result.structuredContent], [200, { sum: 5 }]);
  const { authorization: _, ...anonymous } = headers;
  const refused = await callFrom(browser, trusted, endpoint, anonymous);
  assertEquals(refused, { status: 401, challenge: "Bearer", text: "Sign in" });
  const attacker = `http://attacker.example:${site.port}`;
  assertEquals(await callFrom(browser, attacker, endpoint, headers), { refused: "TypeError" });
  assertEquals(calls, 1);
});
