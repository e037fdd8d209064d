// Pages of other origins, as a browser lets them and as it does not: replies, errors, cookies,
// WebSockets and forms.

import { App, dependency, html, HTTPError } from "@webfw/core";
import { assertEquals } from "@std/assert";
import type { Browser, Page } from "npm:playwright-core@^1.65.1";
import * as v from "valibot";
import { Serving } from "../spec/support/serving.ts";
import { browserTest } from "./support/browser.ts";

/** A site whose pages have nothing but a form. */
function pages(): App {
  const app = new App();
  app.get("/", { query: { to: v.optional(v.string(), "/") } }, async (_request, { to }) => {
    const form = `<form method=post action="${to}"><button>Send</button></form>`;
    return html(`<!doctype html><link rel=icon href='data:,'><title>Page</title>${form}`);
  });
  return app;
}

/** An API, and what its routes and its refusals have seen. */
function api(origins: string[]): { app: App; orders: string[]; refused: (string | null)[] } {
  const orders: string[] = [];
  const refused: (string | null)[] = [];
  const app = new App({ origins, cors: { credentials: true, exposeHeaders: ["x-total"] } });
  app.onError(async (error, request) => {
    if (error.status === 403) refused.push(request.headers.get("sec-fetch-site"));
  });
  const user = dependency({ cookies: { sid: v.optional(v.string()) } }, async (_request, { cookies }) => {
    if (cookies.sid === undefined) throw new HTTPError(401, "Sign in", { headers: { "retry-after": "1" } });
    return cookies.sid;
  });
  app.post("/login", async (request) => request.setCookie({ name: "sid", value: "ada", secure: false }));
  app.get("/me", { deps: { user } }, async (_request, { user }) => ({ user }));
  app.put("/orders/{id}", { body: v.object({ book: v.string() }), deps: { user } }, async (request, { id, body }) => {
    orders.push(body.book);
    request.replyHeaders.set("x-total", "1");
    request.replyHeaders.set("location", `/orders/${id}`);
    return body;
  });
  app.post("/orders", async () => {
    orders.push("by form");
  });
  app.get("/lines", async function* () {
    yield { line: 1 };
  });
  app.websocket("/chat", { deps: { user } }, async (socket, { user }) => await socket.send(`hello ${user}`));
  return { app, orders, refused };
}

async function openPage(browser: Browser, url: string): Promise<Page> {
  const page = await (await browser.newContext()).newPage();
  await page.goto(url);
  return page;
}

/** What a script of a page gets from `fetch` with cookies. */
function ask(page: Page, url: string, init: RequestInit = {}): Promise<unknown> {
  return page.evaluate(async ({ url, init }) => {
    try {
      const response = await fetch(url, { credentials: "include", ...init });
      const headers = ["location", "x-total", "retry-after", "x-secret"].map((name) => response.headers.get(name));
      const text = await response.text();
      return [response.status, text.startsWith("{") ? JSON.parse(text) : text, ...headers.filter((value) => value)];
    } catch (error) {
      return (error as Error).name;
    }
  }, { url, init });
}

/** The messages of a WebSocket, and the code of its end. */
function converse(page: Page, url: string): Promise<unknown[]> {
  return page.evaluate((url) => {
    const seen: unknown[] = [];
    const socket = new WebSocket(url);
    socket.onmessage = ({ data }) => seen.push(data);
    return new Promise<unknown[]>((resolve) => {
      socket.onclose = ({ code }) => resolve([...seen, code]);
    });
  }, url);
}

const ORDER = { method: "PUT", headers: { "content-type": "application/json" }, body: '{"book":"Emma"}' };

browserTest(
  "A page of a listed origin uses an API of another host with cookies, and reads its errors",
  async (browser) => {
    await using site = await Serving.start(pages());
    const { app, orders } = api([`http://shop.books.example:${site.port}`]);
    await using serving = await Serving.start(app);
    const url = `http://api.books.example:${serving.port}`;
    const page = await openPage(browser, `http://shop.books.example:${site.port}`);
    const problem = (status: number, title: string, detail: string) => [status, {
      type: "about:blank",
      title,
      status,
      detail,
    }];

    assertEquals(await ask(page, `${url}/me`), [...problem(401, "Unauthorized", "Sign in"), "1"]);
    assertEquals(await converse(page, `${url.replace("http", "ws")}/chat`), [1006]);
    assertEquals(await ask(page, `${url}/login`, { method: "POST" }), [204, ""]);
    assertEquals(await ask(page, `${url}/me`), [200, { user: "ada" }]);
    assertEquals(await ask(page, `${url}/orders/1`, ORDER), [200, { book: "Emma" }, "/orders/1", "1"]);
    assertEquals(orders, ["Emma"]);
    assertEquals(await ask(page, `${url}/nothing`, ORDER), problem(404, "Not Found", "Nothing is served at this path"));
    assertEquals(
      await ask(page, `${url}/me`, ORDER),
      problem(405, "Method Not Allowed", "This path does not serve the method"),
    );
    assertEquals(await ask(page, `${url}/lines`), [200, { line: 1 }]);
    assertEquals(await converse(page, `${url.replace("http", "ws")}/chat`), ["hello ada", 1000]);
    await page.context().close();
  },
);

browserTest("A page of an origin that is not listed gets nothing, sends nothing and opens nothing", async (browser) => {
  await using site = await Serving.start(pages());
  const { app, orders, refused } = api([`http://shop.books.example:${site.port}`]);
  await using serving = await Serving.start(app);
  const url = `http://api.books.example:${serving.port}`;
  const page = await openPage(browser, `http://other.books.example:${site.port}/?to=${url}/orders`);

  for (const path of ["/me", "/lines", "/nothing"]) assertEquals(await ask(page, url + path), "TypeError");
  assertEquals(await ask(page, `${url}/orders/1`, ORDER), "TypeError");
  // A request that needs no preflight, whose reply the page does not want to read.
  assertEquals(await ask(page, `${url}/orders`, { method: "POST", mode: "no-cors", body: "x" }), [0, ""]);
  assertEquals(await converse(page, `${url.replace("http", "ws")}/chat`), [1006]);
  await page.getByRole("button").click();
  await page.waitForURL(`${url}/orders`);
  assertEquals((await page.textContent("body"))!.includes("http://other.books.example"), true);
  assertEquals(orders, []);
  // Browsers send no Sec-Fetch-Site over HTTP to hosts other than this machine.
  assertEquals(refused, [null, null, null, null]);
  await page.context().close();
});

browserTest(
  "A page of another port of this machine is refused by Sec-Fetch-Site, unless it is listed",
  async (browser) => {
    await using site = await Serving.start(pages());
    await using other = await Serving.start(pages());
    const { app, orders, refused } = api([`http://localhost:${site.port}`]);
    await using serving = await Serving.start(app);
    const url = `http://localhost:${serving.port}`;
    const send = async (port: number) => {
      const page = await openPage(browser, `http://localhost:${port}/?to=${url}/orders`);
      await page.getByRole("button").click();
      await page.waitForURL(`${url}/orders`);
      await page.context().close();
    };
    await send(other.port);
    assertEquals([orders, refused], [[], ["same-site"]]);
    const page = await openPage(browser, `http://localhost:${site.port}`);
    assertEquals(await ask(page, `${url}/orders`, { method: "POST" }), [204, ""]);
    assertEquals([orders, refused.length], [["by form"], 1]);
    await page.context().close();
  },
);
