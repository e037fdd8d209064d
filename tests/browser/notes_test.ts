// The notes: a person signs in on the page, and an agent uses the same routes as tools.

import { assertEquals } from "@std/assert";
import { fileURLToPath } from "node:url";
import { run } from "../agents/programs.ts";
import { Webfw } from "../cli/webfw.ts";
import { browserTest } from "./support/browser.ts";
import { WatchedPage } from "./support/watched_page.ts";

const FOLDER = fileURLToPath(new URL("../../examples/notes/", import.meta.url));

browserTest(
  "A person signs in and writes a note, and an agent with a token reads it and writes another",
  async (browser) => {
    await using webfw = await Webfw.start(["run", "main.ts:app", "--port=0"], {
      cwd: FOLDER,
      env: { NOTES_PASSWORD: "mellon", NOTES_TOKEN: "ada", WEBFW_CONFIG: Deno.env.get("WEBFW_CONFIG") ?? "" },
    });
    const origin = await webfw.origin();
    await using watched = await WatchedPage.open(browser, origin);
    const { page } = watched;
    await page.getByLabel("Password").fill("mellon");
    await page.getByRole("button", { name: "Sign in" }).click();
    await page.getByLabel("Note").fill("Buy <b>tea</b>");
    await page.getByRole("button", { name: "Add" }).click();
    await page.getByText("Buy <b>tea</b>").waitFor();

    const calls = [{ name: "addNote", arguments: { body: { text: "Boil water" } } }, {
      name: "listNotes",
      arguments: {},
    }];
    const { stdout, stderr } = await run("first_generation.ts", [`${origin}/mcp`, JSON.stringify(calls)]);
    assertEquals(stderr, "");
    const { results } = JSON.parse(stdout) as { results: { structuredContent: unknown }[] };
    assertEquals(results.map(({ structuredContent }) => structuredContent), [
      { text: "Boil water" },
      { result: [{ text: "Buy <b>tea</b>" }, { text: "Boil water" }] },
    ]);
    await page.reload();
    await page.getByText("Boil water").waitFor();
    assertEquals(watched.complaints, []);

    const stranger = await fetch(`${origin}/notes`);
    assertEquals(stranger.status, 401);
    await stranger.body?.cancel();
  },
);
