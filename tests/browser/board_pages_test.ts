// The board as people use it: "nothing from another host, strict Content-Security-Policy, no inline
// script; dark mode; keyboard; […] usable at 390 px; […] A large list is drawn in parts (10,000
// messages do not stall it). Unsafe actions ask […] It is live by the framework's own event streams,
// and comes back by itself after a restart." (board.md)

import { assert, assertEquals, assertMatch } from "@std/assert";
import type { Page } from "npm:playwright-core@^1.65.1";
import { Serving } from "../spec/support/serving.ts";
import { browserTest } from "./support/browser.ts";
import { boardApp, useApp } from "./support/board_app.ts";
import { WatchedPage } from "./support/watched_page.ts";

const DESKTOP = { viewport: { width: 1280, height: 900 } };
const PHONE = { viewport: { width: 390, height: 844 }, isMobile: true, hasTouch: true };

/** All but the streams that end with their page. */
function complaintsOf({ complaints }: WatchedPage): string[] {
  return complaints.filter((complaint) => !/^failed: .*\/events$/.test(complaint));
}

const heading = (page: Page, name: string | RegExp) => page.getByRole("heading", { level: 1, name }).waitFor();

browserTest("The board", async (browser, t) => {
  await using served = await Serving.start(boardApp());
  const { origin } = served;
  await useApp(origin);
  const open = (place = "", options: object = DESKTOP) =>
    WatchedPage.open(browser, `${origin}/_board/${place}`, options);

  await t.step("lists requests live, and finds them by status and text", async () => {
    await using watched = await open();
    const { page } = watched;
    const list = page.getByRole("table", { name: "Requests" });
    await list.getByRole("link", { name: "/items/tea?page=2" }).waitFor();
    await (await fetch(`${origin}/items/live`)).body?.cancel();
    await list.getByRole("link", { name: "/items/live" }).waitFor();
    await page.getByLabel("Status", { exact: true }).selectOption("5");
    await list.getByRole("link", { name: "/broken" }).waitFor();
    assertEquals(await list.getByRole("link").count(), 1);
    await page.getByLabel("Status", { exact: true }).selectOption("");
    await page.getByLabel("Text in the path").fill("page=2");
    await page.getByText(/^1 of \d+$/).waitFor();
    assertEquals(complaintsOf(watched), []);
  });

  await t.step("pauses the list, and says how many requests came meanwhile", async () => {
    await using watched = await open();
    const { page } = watched;
    await page.getByRole("link", { name: "/broken" }).waitFor();
    await page.getByRole("button", { name: "Pause" }).click();
    await (await fetch(`${origin}/items/paused`)).body?.cancel();
    await page.getByRole("button", { name: "Resume (1 new)" }).click();
    await page.getByRole("link", { name: "/items/paused" }).waitFor();
    assertEquals(complaintsOf(watched), []);
  });

  await t.step("shows why a request was slow: the longest bar is that of the dependency", async () => {
    await using watched = await open();
    const { page } = watched;
    await page.getByRole("link", { name: "/items/tea?page=2" }).click();
    await heading(page, "GET /items/tea?page=2");
    const rows = page.getByRole("table", { name: "Parts of the request" }).getByRole("row");
    const texts = await rows.allInnerTexts();
    assert(texts.some((text) => /middleware\s+timing/.test(text)));
    const width = async (name: string) => (await rows.filter({ hasText: name }).locator(".bar i").boundingBox())!.width;
    assert(await width("stock") > 3 * await width("handler"), texts.join("\n"));
    await page.getByText("most in dependency stock").waitFor();
    await page.getByRole("region", { name: "Log entries" }).getByText("Seen").waitFor();
    assertEquals(complaintsOf(watched), []);
  });

  await t.step("shows the error of a request with the frames of the application, and the issues of a 422", async () => {
    await using watched = await open();
    const { page } = watched;
    await page.getByRole("link", { name: "/broken" }).click();
    assertMatch(await page.getByRole("region", { name: "Error" }).innerText(), /ledger is locked[^]*board_app\.ts/);
    await page.getByRole("link", { name: "← Requests" }).click();
    await page.getByLabel("Status", { exact: true }).selectOption("4");
    await page.getByRole("link", { name: "/orders" }).first().click();
    await page.getByRole("region", { name: "Invalid input" }).getByText("body.quantity").waitFor();
    assertEquals(complaintsOf(watched), []);
  });

  await t.step("sends a request again, after it has asked if that may change something", async () => {
    await using watched = await open();
    const { page } = watched;
    // Not by any text: a duration may be 201 ms.
    const status = page.getByText("201", { exact: true });
    await page.getByRole("row").filter({ has: status }).first().getByRole("link").click();
    await heading(page, /POST \/orders/);
    const before = page.url();
    await page.getByRole("button", { name: "Send again" }).click();
    await page.getByRole("dialog").getByText("Send POST /orders again?").waitFor();
    await page.getByRole("dialog").getByRole("button", { name: "Send again" }).click();
    assertMatch(await page.locator(".notices p").innerText(), /^Sent again: 201 in /);
    await page.waitForURL((url: URL) => url.href !== before);
    assertEquals(complaintsOf(watched), []);
  });

  await t.step("shows why a message failed, with its data, and retries and discards it", async () => {
    await using watched = await open();
    const { page } = watched;
    await page.getByRole("link", { name: /^Consumers/ }).click();
    await page.getByRole("link", { name: "orders/mail" }).click();
    await page.getByRole("table", { name: "Failures" }).getByRole("button").first().click();
    await page.getByText('"item": "mug"').waitFor();
    await page.getByRole("heading", { level: 3, name: "No such mailbox" }).waitFor();
    await page.getByRole("button", { name: "Retry", exact: true }).click();
    await page.getByText("1 message is redelivered").waitFor();
    await page.getByRole("button", { name: "Discard all" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Discard all" }).click();
    await page.getByText("No message was given up.").waitFor();
    assertEquals(complaintsOf(watched), []);
  });

  await t.step("pauses and resumes a consumer", async () => {
    await using watched = await open("#/consumers/orders/mail");
    const { page } = watched;
    await page.getByRole("button", { name: "Pause" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Cancel" }).click();
    await page.getByRole("button", { name: "Pause" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Pause" }).click();
    await page.getByRole("button", { name: "Resume" }).click();
    await page.getByRole("button", { name: "Pause" }).waitFor();
    assertEquals(complaintsOf(watched), []);
  });

  await t.step("publishes a message by a form of the schema, and a message has its own place", async () => {
    await using watched = await open("#/topics/orders");
    const { page } = watched;
    await page.getByRole("button", { name: "Publish…" }).click();
    await page.getByLabel("id", { exact: true }).fill("by-hand");
    await page.getByLabel("item", { exact: true }).selectOption('"tea"');
    await page.getByLabel("quantity", { exact: true }).fill("3");
    await page.getByRole("button", { name: "Publish", exact: true }).click();
    await page.getByText(/^Published as /).waitFor();
    const row = page.getByRole("table", { name: "Messages" }).getByRole("row").filter({ hasText: "by-hand" });
    await row.getByRole("button").click();
    await page.getByRole("region", { name: /^Message / }).getByText('"quantity": 3').waitFor();
    assertEquals(complaintsOf(watched), []);
  });

  await t.step("shows a new message, also where an older reply comes after it", async () => {
    await using watched = await open("#/topics");
    const { page } = watched;
    const early = Promise.withResolvers<void>();
    const isShown = Promise.withResolvers<void>();
    let pages = 0;
    await page.route("**/api/messages?**", async (route) => {
      const isFirst = pages++ === 0;
      const response = await route.fetch();
      if (isFirst) early.resolve();
      if (isFirst) await isShown.promise;
      await route.fulfill({ response });
    });
    await page.getByRole("link", { name: "orders", exact: true }).click();
    await early.promise;
    const headers = { "content-type": "application/json", authorization: "Bearer t-1" };
    const body = JSON.stringify({ id: "later", item: "tea", quantity: 1 });
    await (await fetch(`${origin}/orders`, { method: "POST", headers, body })).body?.cancel();
    const row = page.getByRole("table", { name: "Messages" }).getByRole("row").filter({ hasText: "later" });
    await row.waitFor();
    const late = page.waitForResponse(/api.messages/);
    isShown.resolve();
    await (await late).finished();
    await page.getByRole("button", { name: "Publish…" }).click();
    assertEquals(await row.count(), 1);
    assertEquals(complaintsOf(watched), []);
  });

  await t.step("says in words when a cron runs next, here and in its zone, and runs it now", async () => {
    await using watched = await open("#/crons", { ...DESKTOP, timezoneId: "Asia/Tokyo" });
    const { page } = watched;
    await page.getByText("At 02:30 on Monday to Friday, America/New_York").waitFor();
    await page.getByRole("columnheader", { name: "Here, Asia/Tokyo" }).waitFor();
    assertEquals(await page.getByRole("region", { name: "Next times of nightly report" }).getByRole("row").count(), 6);
    await page.getByRole("button", { name: "Run now" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Run now" }).click();
    await page.getByText(/^nightly report ran in /).waitFor();
    assertEquals(complaintsOf(watched), []);
  });

  await t.step("has the routes with their calls, and links into the documentation page", async () => {
    await using watched = await open("#/routes");
    const { page } = watched;
    const row = page.getByRole("row").filter({ hasText: "/items/{item}" });
    const link = await row.getByRole("link").getAttribute("href");
    assertMatch(link!, /^\/docs#\/default\/getItems/);
    await page.getByText("bearer").first().waitFor();
    assertEquals(complaintsOf(watched), []);
  });

  await t.step("is used with the keyboard alone", async () => {
    await using watched = await open();
    const { page } = watched;
    await page.getByRole("link", { name: "/broken" }).waitFor();
    const tabTo = async (name: RegExp) => {
      for (let tabs = 0; tabs < 40; tabs++) {
        await page.keyboard.press("Tab");
        const label: string = await page.evaluate(
          `document.activeElement.ariaLabel || document.activeElement.innerText || document.activeElement.placeholder || ""`,
        );
        if (name.test(label)) return;
      }
      throw new Error(`The tab key does not get to ${name}`);
    };
    await tabTo(/^Topics$/);
    await page.keyboard.press("Enter");
    await heading(page, "Topics");
    assertEquals(await page.evaluate("document.activeElement.tagName"), "H1");
    await tabTo(/^orders$/);
    await page.keyboard.press("Enter");
    await heading(page, "orders");
    await tabTo(/^Publish…$/);
    await page.keyboard.press("Enter");
    await tabTo(/^Cancel$/);
    assertEquals(complaintsOf(watched), []);
  });

  await t.step("fits on a phone, each page of it", async () => {
    await using watched = await open("", PHONE);
    const { page } = watched;
    for (
      const place of [
        "requests",
        "routes",
        "topics",
        "topics/orders",
        "consumers",
        "consumers/orders/mail",
        "crons",
        "health",
      ]
    ) {
      await page.goto(`${origin}/_board/#/${place}`);
      await page.getByRole("heading", { level: 1 }).waitFor();
      assertEquals(await page.evaluate("document.documentElement.scrollWidth"), 390, place);
    }
    assertEquals(complaintsOf(watched), []);
  });

  await t.step("has dark colours where the system has", async () => {
    const background = "getComputedStyle(document.body).backgroundColor";
    for (const [colorScheme, isDark] of [["light", false], ["dark", true]] as const) {
      await using watched = await open("", { ...DESKTOP, colorScheme });
      const [red = 0] = String(await watched.page.evaluate(background)).match(/\d+/g)!.map(Number);
      assertEquals(red < 128, isDark);
    }
  });
});

browserTest("The board shows data as it is, also where it is HTML", async (browser) => {
  const evil = `<img src=x onerror="document.title='owned'"><script>document.title='owned'</script>`;
  const app = boardApp();
  const notes = app.topic("notes");
  app.get("/notes/{text}", async (request, { text }) => {
    request.log.info(evil, { text });
    throw new Error(evil);
  });
  await using served = await Serving.start(app);
  const { origin } = served;
  await notes.publish({ evil });
  await (await fetch(`${origin}/notes/${encodeURIComponent(evil)}`, { headers: { "x-note": evil } })).body?.cancel();
  await using watched = await WatchedPage.open(browser, `${origin}/_board/#/topics/notes`, DESKTOP);
  const { page } = watched;
  await page.getByRole("table", { name: "Messages" }).getByRole("button").click();
  await page.getByText("onerror").first().waitFor();
  await page.goto(`${origin}/_board/#/requests`);
  await page.getByRole("table", { name: "Requests" }).getByRole("link").first().click();
  await page.getByRole("region", { name: "Error" }).waitFor();
  assertEquals(await page.locator("main img, main script").count(), 0);
  assert(await page.title() !== "owned");
  assertEquals(complaintsOf(watched), []);
});

browserTest("10,000 messages do not stall the board: only the visible rows are in the page", async (browser) => {
  const app = boardApp();
  await using served = await Serving.start(app);
  const orders = app.topic("orders");
  const ids = Array.from({ length: 10_000 }, (_, index) => ({ id: `n-${index}`, item: "tea", quantity: index }));
  await Promise.all(ids.map((order) => orders.publish(order)));
  await using watched = await WatchedPage.open(browser, `${served.origin}/_board/#/topics/orders`, DESKTOP);
  const { page } = watched;
  const list = page.getByRole("table", { name: "Messages" });
  await list.getByText("n-9999").waitFor();
  // Each time the end is reached, older messages follow.
  const toEnd = `(() => {
    const list = document.querySelector("[role=table][aria-label=Messages]");
    list.scrollTo(0, list.scrollHeight);
    return list.innerText.includes('"n-0"');
  })()`;
  // Not by waitForFunction, whose code the policy of the page refuses.
  while (!await page.evaluate(toEnd)) await list.getByText("n-").first().waitFor();
  assert(await list.getByRole("row").count() < 80);
  assertEquals(complaintsOf(watched), []);
});

browserTest("The board comes back by itself after a restart of the application", async (browser) => {
  const first = await Serving.start(boardApp());
  const { origin, port } = first;
  await (await fetch(`${origin}/items/before`)).body?.cancel();
  await using watched = await WatchedPage.open(browser, `${origin}/_board/`, DESKTOP);
  const { page } = watched;
  await page.getByRole("link", { name: "/items/before" }).waitFor();
  await first.stop();
  await page.getByText("Reconnecting…").waitFor();
  await using _second = await Serving.start(boardApp(), { port });
  await page.getByText("Live").waitFor();
  await (await fetch(`${origin}/items/after`)).body?.cancel();
  await page.getByRole("link", { name: "/items/after" }).waitFor();
  assertEquals(await page.getByRole("link", { name: "/items/before" }).count(), 0);
});
