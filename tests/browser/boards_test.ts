// The boards, as two people see them in a real browser.

import { assertEquals } from "@std/assert";
import type { Browser } from "npm:playwright-core@^1.65.1";
import { board } from "../../examples/board/board.ts";
import { INBOX_SECRET, PASSWORD } from "../examples/temporary_board.ts";
import { Serving } from "../spec/support/serving.ts";
import { browserTest } from "./support/browser.ts";
import { WatchedPage } from "./support/watched_page.ts";

const ADMIN_TOKEN = "a".repeat(32);

async function register(browser: Browser, origin: string, name: string): Promise<WatchedPage> {
  const watched = await WatchedPage.open(browser, origin);
  const { page } = watched;
  await page.getByLabel("Email").fill(`${name}@example.com`);
  await page.getByLabel("Password").fill(PASSWORD);
  await page.getByLabel("Name, to register").fill(name);
  await page.getByRole("button", { name: "Sign in or register" }).click();
  await page.getByLabel("New team and board").waitFor();
  return watched;
}

browserTest("Two members of a team see each other, and each other's cards, on a live board", async (browser) => {
  const folder = await Deno.makeTempDir({ prefix: "webfw_board_" });
  try {
    const app = board({
      BOARD_DATA: folder,
      BOARD_ADMIN_TOKEN: ADMIN_TOKEN,
      BOARD_INBOX_SECRET: INBOX_SECRET,
      BOARD_TIME_ZONE: "UTC",
      BOARD_HOSTS: ["127.0.0.1"],
      BOARD_PROXIES: 0,
    });
    await using serving = await Serving.start(app);
    await using ada = await register(browser, serving.origin, "ada");
    await using bob = await register(browser, serving.origin, "bob");

    await ada.page.getByLabel("New team and board").fill("Engines");
    await ada.page.getByRole("button", { name: "Create" }).click();
    await ada.page.getByRole("heading", { name: "Engines" }).waitFor();
    const body = { email: "bob@example.com" };
    const invited = await ada.page.evaluate(async (body) => {
      const headers = { "content-type": "application/json" };
      return (await fetch("/v1/teams/1/members", { method: "POST", headers, body: JSON.stringify(body) })).status;
    }, body);
    assertEquals(invited, 201);
    await bob.page.evaluate("location.hash = '1'");
    for (const { page } of [ada, bob]) await page.locator("#online", { hasText: "ada, bob" }).waitFor();

    await ada.page.getByLabel("Card").fill("Draw <b>gears</b>");
    await ada.page.getByRole("button", { name: "Add" }).click();
    const card = bob.page.locator("article", { hasText: "Draw <b>gears</b>" });
    await card.getByRole("button", { name: "doing" }).click();
    await ada.page.locator("section#doing article", { hasText: "Draw <b>gears</b>" }).waitFor();

    assertEquals(bob.complaints.filter((complaint) => !/401/.test(complaint)), []);
    await bob.page.close();
    await ada.page.locator("#online", { hasText: /^ada$/ }).waitFor();
    // Before the sign-in, the page learns by a 401 that nobody is signed in.
    assertEquals(ada.complaints.filter((complaint) => !/401/.test(complaint)), []);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});
