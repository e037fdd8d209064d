// WebSockets as pages see them: their own host's, and those of others.

import { App, dependency, html, HTTPError } from "@webfw/core";
import { assertEquals } from "@std/assert";
import type { Browser, Page } from "npm:playwright-core@^1.65.1";
import * as v from "valibot";
import { Serving } from "../spec/support/serving.ts";
import { browserTest } from "./support/browser.ts";

/** What a page saw of a socket: its messages and its close event. */
interface Seen {
  readonly messages: readonly unknown[];
  readonly code: number;
  readonly reason: string;
  readonly protocol: string;
}

function service(): App {
  const app = new App();
  app.get("/", async (request) => {
    request.replyHeaders.set("set-cookie", "sid=7; HttpOnly; SameSite=Strict");
    return html("<!doctype html><link rel=icon href='data:,'><title>Page</title>");
  });
  const user = dependency({ cookies: { sid: v.optional(v.number()) } }, async (_request, { cookies }) => {
    if (cookies.sid === undefined) throw new HTTPError(401);
    return `user ${cookies.sid}`;
  });
  app.websocket("/json", {
    deps: { user },
    protocols: ["v1"],
    receive: v.object({ add: v.number() }),
    send: v.object({ user: v.string(), sum: v.number() }),
    limits: { message: 1000 },
  }, async (socket, { user }) => {
    let sum = 0;
    for await (const { add } of socket) await socket.send({ user, sum: sum += add });
  });
  app.websocket("/bytes", async (socket) => {
    for await (const message of socket) await socket.send(message);
  });
  app.websocket("/count", { send: v.number() }, async (socket) => {
    for (let number = 0; number < 3; number++) await socket.send(number);
    socket.close(4002, "that is all 👋");
  });
  app.websocket("/open", { origins: "*" }, async (socket) => await socket.send("anybody"));
  return app;
}

async function openPage(browser: Browser, url: string): Promise<Page> {
  const context = await browser.newContext();
  const page = await context.newPage();
  await page.goto(url);
  return page;
}

/**
 * Opens a socket on a page, sends messages, and waits for its end. Closes it after this many
 * messages.
 */
function see(
  page: Page,
  url: string,
  { send = [], closeAfter = Infinity, protocols = [] }: { send?: string[]; closeAfter?: number; protocols?: string[] },
): Promise<Seen> {
  return page.evaluate(({ url, send, closeAfter, protocols }) => {
    const socket = new WebSocket(url, protocols);
    const messages: unknown[] = [];
    socket.onopen = () => send.forEach((message) => socket.send(message));
    socket.onmessage = ({ data }) => {
      if (messages.push(data) === closeAfter) socket.close(3001, "done");
    };
    return new Promise<Seen>((resolve) => {
      socket.onclose = ({ code, reason }) => resolve({ messages, code, reason, protocol: socket.protocol });
    });
  }, { url, send, closeAfter, protocols });
}

browserTest("A page converses with the host that it came from, and learns why a socket was closed", async (browser) => {
  await using serving = await Serving.start(service());
  const page = await openPage(browser, serving.origin);
  const socket = serving.origin.replace("http", "ws");
  assertEquals(
    await see(page, `${socket}/json`, { send: ['{"add":1}', '{"add":2}'], closeAfter: 2, protocols: ["v1", "v2"] }),
    {
      messages: ['{"user":"user 7","sum":1}', '{"user":"user 7","sum":3}'],
      code: 3001,
      reason: "done",
      protocol: "v1",
    },
  );
  assertEquals(await see(page, `${socket}/count`, {}), {
    messages: ["0", "1", "2"],
    code: 4002,
    reason: "that is all 👋",
    protocol: "",
  });
  const wrong = await see(page, `${socket}/json`, { send: ['{"add":"x"}', '{"add":1}', '{"add":1}'] });
  assertEquals([wrong.code, wrong.reason], [1007, "add: Invalid type: expected number"]);
  const large = await see(page, `${socket}/json`, { send: ["x".repeat(1001)] });
  assertEquals([large.code, large.reason], [1009, "A message may have 1000 bytes"]);
  const bytes = await page.evaluate((url) => {
    const socket = new WebSocket(url);
    socket.binaryType = "arraybuffer";
    socket.onopen = () => socket.send(new Uint8Array([0, 255, 7]));
    return new Promise<number[]>((resolve) => {
      socket.onmessage = ({ data }) => {
        socket.close();
        resolve([...new Uint8Array(data)]);
      };
    });
  }, `${socket}/bytes`);
  assertEquals(bytes, [0, 255, 7]);
  await page.context().close();
});

browserTest("A page of another origin is refused, unless it is allowed", async (browser) => {
  await using serving = await Serving.start(service());
  await using other = await Serving.start(service());
  for (const origin of [other.origin, `http://attacker.example:${serving.port}`]) {
    const page = await openPage(browser, origin);
    const socket = serving.origin.replace("http", "ws");
    const refused = await see(page, `${socket}/json`, {});
    assertEquals([refused.code, refused.messages], [1006, []]);
    assertEquals((await see(page, `${socket}/open`, {})).messages, ["anybody"]);
    await page.context().close();
  }
});

browserTest("A page is told that the server stops", async (browser) => {
  const app = service();
  const opened = Promise.withResolvers<void>();
  app.websocket("/wait", async (socket) => {
    opened.resolve();
    for await (const _ of socket);
  });
  const serving = await Serving.start(app);
  const page = await openPage(browser, serving.origin);
  const seen = see(page, serving.origin.replace("http", "ws") + "/wait", {});
  await opened.promise;
  await serving.stop();
  assertEquals((await seen).code, 1001);
  await page.context().close();
});
