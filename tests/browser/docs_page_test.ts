// The documentation page, in a real browser.

import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { Buffer } from "node:buffer";
import { App, Problem, Text } from "@webfw/core";
import type { DocsOptions } from "@webfw/core/types";
import { browserTest } from "./support/browser.ts";
import { DESKTOP, isDark, openDocs, operation, originOf, serve, tryOut } from "./support/docs_page.ts";
import { documentedApp } from "./support/documented_app.ts";
import { WatchedPage } from "./support/watched_page.ts";
import * as v from "valibot";

/** Objects of a list in a form. */
const PRIZES = [{ name: "First & best", year: 1850 }, { name: "x", year: 1851 }];

browserTest("The documentation page", async (browser, t) => {
  await using server = serve(documentedApp().fetch);

  await t.step("lists the operations and the models without errors", async () => {
    await using watched = await openDocs(browser, server);
    const { page } = watched;
    assertEquals(await page.title(), "Books");
    assertEquals(await page.locator(".opblock-tag").count(), 2);
    const listed = await page.locator(".opblock-summary-control").allInnerTexts();
    assertEquals(listed.length, 11);
    assertEquals(listed[0]!.split(/\s+/).join(" "), "GET /books List the books.");
    await page.locator(".models").getByText("Book", { exact: true }).waitFor();
    assertEquals(watched.complaints, []);
  });

  await t.step("sends a request and shows the reply", async () => {
    await using watched = await openDocs(browser, server);
    const reply = await tryOut(watched.page, "getBook", () => watched.page.getByPlaceholder("id").fill("7"));
    assertMatch(await reply.innerText(), /200[^]+"id": 7,\s+"title": "Middlemarch"[^]+content-type: application\/json/);
    assertEquals(watched.complaints, []);
  });

  await t.step("sends a body", async () => {
    await using watched = await openDocs(browser, server);
    const body = watched.page.getByLabel("Request body");
    const reply = await tryOut(watched.page, "addBook", () => body.fill('{ "id": 3, "title": "Emma" }'));
    assertMatch(await reply.innerText(), /201[^]+"title": "Emma"/);
    assertEquals(watched.complaints, []);
  });

  await t.step(
    "sends a form with a file, lists and objects as documented, without fields that were not chosen",
    async () => {
      await using watched = await openDocs(browser, server);
      const { page } = watched;
      const reply = await tryOut(page, "addCover", async () => {
        const form = operation(page, "addCover").locator("[data-property-name]");
        await form.getByPlaceholder("title").fill("Emma");
        await form.locator("input[type=file]").first().setInputFiles({
          name: "front.png",
          mimeType: "image/png",
          buffer: Buffer.from("a front"),
        });
        await form.getByLabel("artist").fill('{ "name": "Grüße & Co", "born": 1775 }');
        await form.getByLabel("colours").selectOption(["red", "blue"]);
        const prizes = operation(page, "addCover").locator("[data-property-name=prizes]");
        for (const [index, prize] of PRIZES.entries()) {
          await prizes.getByRole("button", { name: "Add object item" }).click();
          await prizes.locator("textarea").nth(index).fill(JSON.stringify(prize));
        }
      });
      const sent = /200[^]+"title": "Emma",\s+"artist": \{\s+"name": "Grüße & Co",\s+"born": 1775\s+\}/;
      assertMatch(await reply.innerText(), sent);
      assertMatch(
        await reply.innerText(),
        /"colours": \[\s+"red",\s+"blue"\s+\],\s+"prizes": \[\s+\{\s+"name": "First & best",\s+"year": 1850\s+\},\s+\{\s+"name": "x",\s+"year": 1851\s+\}\s+\],\s+"front"/,
      );
      assertMatch(await reply.innerText(), /"others": \[\s+null,\s+\[\]\s+\]/);
      assertEquals(watched.complaints, []);
    },
  );

  await t.step("picks the files of a list, one after the other", async () => {
    await using watched = await openDocs(browser, server);
    const { page } = watched;
    const picture = (name: string) => ({ name, mimeType: "image/png", buffer: Buffer.from(name) });
    const reply = await tryOut(page, "addCover", async () => {
      const form = operation(page, "addCover").locator("[data-property-name]");
      await form.getByPlaceholder("title").fill("Emma");
      await form.locator("input[type=file]").first().setInputFiles(picture("front.png"));
      const sketches = operation(page, "addCover").locator("[data-property-name=sketches]");
      for (const [index, name] of ["one.png", "three.png"].entries()) {
        await sketches.getByRole("button", { name: /^Add / }).click();
        await sketches.locator("input[type=file]").nth(index).setInputFiles(picture(name));
      }
    });
    assertMatch(await reply.innerText(), /"others": \[\s+null,\s+\[\s+"one.png: 7",\s+"three.png: 9"\s+\]\s+\]/);
    assertEquals(watched.complaints, []);
  });

  await t.step("sends a file as the whole body", async () => {
    await using watched = await openDocs(browser, server);
    const file = { name: "cover.png", mimeType: "image/png", buffer: Buffer.from("twelve bytes") };
    const chosen = watched.page.getByLabel("Request body");
    const reply = await tryOut(watched.page, "putCover", () => chosen.setInputFiles(file));
    assertMatch(await reply.innerText(), /200[^]+"size": 12/);
    assertEquals(watched.complaints, []);
  });

  await t.step("sends the credentials that the user enters", async () => {
    await using watched = await openDocs(browser, server);
    const { page } = watched;
    await page.getByRole("button", { name: "Authorize" }).click();
    const dialog = page.locator(".dialog-ux");
    await dialog.getByRole("textbox").fill("Bearer secret");
    await dialog.getByRole("button", { name: "Authorize" }).click();
    await dialog.getByRole("button", { name: "Close" }).last().click();
    const reply = await tryOut(page, "listBooks");
    assertMatch(await reply.innerText(), /200[^]+\[\][^]+content-type: application\/json/);
    assertEquals(watched.complaints, []);
  });

  await t.step("shows a reply that is a picture", async () => {
    await using watched = await openDocs(browser, server);
    const reply = await tryOut(watched.page, "getCover");
    await reply.locator("img").waitFor();
    assertEquals(await watched.page.evaluate("document.querySelector('.live-responses-table img').naturalWidth"), 1);
    assertEquals(watched.complaints, []);
  });

  await t.step("opens at an operation, which its address names", async () => {
    await using watched = await openDocs(browser, server, { path: "/docs#/books/getBook" });
    const { page } = watched;
    await operation(page, "getBook").getByRole("button", { name: "Try it out" }).waitFor();
    assertEquals(await page.locator(".opblock.is-open").count(), 1);
    await operation(page, "addBook").locator(".opblock-summary-control").click();
    await page.waitForURL("**#/books/addBook");
    assertEquals(watched.complaints, []);
  });

  await t.step("is used with the keyboard alone, and shows where the focus is", async () => {
    await using watched = await openDocs(browser, server);
    const { page } = watched;
    const tabTo = async (name: RegExp) => {
      const passed: string[] = [];
      while (passed.length < 60) {
        await page.keyboard.press("Tab");
        const [label, outline]: [string, string] = await page.evaluate(`(() => {
          const { ariaLabel, innerText, placeholder } = document.activeElement;
          const style = getComputedStyle(document.activeElement);
          return [ariaLabel || innerText || placeholder || "", style.outlineStyle + style.boxShadow];
        })()`);
        passed.push(label);
        if (outline === "nonenone") {
          throw new Error(`On the way to ${name}, the focus cannot be seen at "${label.slice(0, 40)}"`);
        }
        if (name.test(label.replace(/\s+/g, " "))) return;
      }
      throw new Error(`The tab key does not get to ${name}, but to: ${passed.join(", ")}`);
    };
    await tabTo(/^GET \/books\/\{id\} Get a book\.$/);
    await page.keyboard.press("Enter");
    await page.getByRole("button", { name: "Try it out" }).waitFor();
    await tabTo(/^Try it out$/);
    await page.keyboard.press("Enter");
    await page.getByPlaceholder("id").waitFor();
    await tabTo(/^id$/);
    await page.keyboard.type("12");
    await tabTo(/^Execute$/);
    await page.keyboard.press("Enter");
    await page.locator(".live-responses-table").getByText("12", { exact: true }).waitFor();
    assertEquals(watched.complaints, []);
  });

  await t.step("follows dark mode, also when it changes", async () => {
    await using watched = await openDocs(browser, server);
    const { page } = watched;
    assertEquals(await isDark(page), false);
    await page.emulateMedia({ colorScheme: "dark" });
    await page.locator("html.dark-mode").waitFor();
    assertEquals(await isDark(page), true);
    await page.emulateMedia({ colorScheme: "light" });
    await page.locator("html:not(.dark-mode)").waitFor();
    assertEquals(await isDark(page), false);
    assertEquals(watched.complaints, []);
  });

  await t.step("has a filter of operations by tag and path, which says when it lets none through", async () => {
    await using watched = await openDocs(browser, server);
    const { page } = watched;
    const filter = page.getByRole("search").getByLabel("Filter by tag or path");
    const listed = () => page.locator(".opblock-summary-control").allInnerTexts();
    await filter.fill("{ID}");
    await page.getByText("/cover").first().waitFor({ state: "detached" });
    const paths = (await listed()).map((text) => text.replaceAll("\u200b", "").split(/\s+/)[1]);
    assertEquals([...new Set(paths)], ["/books/{id}"]);
    await filter.fill("Books");
    await page.locator(".opblock").nth(5).waitFor();
    assertEquals((await listed()).length, 6);
    await filter.fill("nothing like this");
    await page.getByText("No operation has this in its tag or path.").waitFor();
    await filter.fill("");
    await page.locator(".opblock").nth(10).waitFor();
    assertEquals((await listed()).length, 11);
    assertEquals(watched.complaints, []);
  });

  await t.step("says where the document is when Swagger UI cannot be loaded", async () => {
    const context = await browser.newContext();
    await context.route("**/swagger-ui.js*", (route) => route.fulfill({ status: 500 }));
    const page = await context.newPage();
    await page.goto(`${originOf(server)}/docs`);
    await page.getByText("could not be loaded").waitFor();
    await page.getByRole("link", { name: "OpenAPI document" }).click();
    await page.waitForURL("**/openapi.json");
    await context.close();
  });

  await t.step("is cached with all its parts when it is opened again", async () => {
    const asked: string[] = [];
    const app = documentedApp();
    await using server = serve(async (request) => {
      const response = await app.fetch(request);
      asked.push(`${response.status} ${new URL(request.url).pathname}`);
      return response;
    });
    await using watched = await openDocs(browser, server);
    assertEquals(asked.length, 6);
    asked.length = 0;
    await watched.page.goto("about:blank");
    await watched.page.goto(`${originOf(server)}/docs`);
    await watched.page.locator(".opblock").first().waitFor();
    assertEquals(asked, ["304 /docs", "304 /openapi.json"]);
  });

  await t.step("sends requests to a server of another origin that the document names", async () => {
    let other = "";
    const app = new App({ origins: "*", document: (document) => ({ ...document, servers: [{ url: `${other}/v1` }] }) });
    app.get("/v1/greeting", async () => "hello");
    app.get("/greeting", async function greet() {
      return "not here";
    });
    await using server = serve(app.fetch);
    other = `http://api.example:${server.addr.port}`;
    await using watched = await WatchedPage.open(browser, `${originOf(server)}/docs`, DESKTOP, [other]);
    const reply = await tryOut(watched.page, "greet");
    assertStringIncludes(await reply.innerText(), "hello");
    assertEquals(watched.complaints, []);
  });

  await t.step("works behind a proxy that serves the application below a prefix", async () => {
    const app = documentedApp();
    const asked: string[] = [];
    await using proxy = serve((request) => {
      const url = new URL(request.url);
      asked.push(url.pathname);
      if (!url.pathname.startsWith("/shop/v1/")) return new Response(null, { status: 404 });
      url.pathname = url.pathname.slice("/shop/v1".length);
      return app.fetch(new Request(url, { method: request.method, headers: request.headers }));
    });
    await using watched = await openDocs(browser, proxy, { path: "/shop/v1/docs" });
    const reply = await tryOut(watched.page, "getBook", () => watched.page.getByPlaceholder("id").fill("7"));
    assertStringIncludes(await reply.innerText(), '"id": 7');
    const shown = operation(watched.page, "getBook").locator(".request-url");
    assertMatch(await shown.innerText(), /\/shop\/v1\/books\/7$/);
    assert(asked.includes("/shop/v1/books/7"));
    assertEquals(watched.complaints, []);
  });

  for (
    const title of [
      '</title><script>alert(1)</script>"><img src=x onerror=alert(1)>',
      "[x](javascript:alert(1)) ${alert(1)} {{constructor.constructor('alert(1)')()}} <svg onload=alert(1)>",
    ]
  ) {
    await t.step(`shows a title unchanged: ${title}`, async () => {
      await using server = serve(documentedApp(title).fetch);
      await using watched = await openDocs(browser, server);
      const { page } = watched;
      assertEquals(await page.title(), title);
      assertStringIncludes(await page.locator(".info .title").innerText(), title);
      assertEquals(await page.locator("script").count(), 2);
      assertEquals(await page.locator("img, .info svg, .info a[href^=javascript]").count(), 0);
      assertEquals(watched.complaints, []);
    });
  }
});

browserTest(
  "The documentation page takes parameters of Swagger UI, and is collapsed beyond 100 operations",
  async (browser, t) => {
    const appWith = (count: number, parameters: NonNullable<DocsOptions["parameters"]>) => {
      const app = new App({ docs: { parameters } });
      for (let index = 0; index < count; index++) {
        app.get(`/${index}`, { operationId: `op${index}` }, async () => index);
      }
      return app;
    };
    const expansions: readonly (readonly [title: string, App, listed: number])[] = [
      ["100 operations are listed", appWith(100, {}), 100],
      ["101 are not", appWith(101, {}), 0],
      ["unless a parameter says so", appWith(101, { docExpansion: "list" }), 101],
      ["and fewer are not, if one says so", appWith(2, { docExpansion: "none" }), 0],
    ];
    for (const [title, app, listed] of expansions) {
      await t.step(title, async () => {
        await using server = serve(app.fetch);
        await using watched = await WatchedPage.open(browser, `${originOf(server)}/docs`, DESKTOP);
        const { page } = watched;
        await page.locator(".opblock-tag").waitFor();
        assertEquals(await page.locator(".opblock").count(), listed);
        if (listed === 0) {
          await page.locator(".opblock-tag").getByRole("button").click();
          await page.locator(".opblock").last().waitFor();
        }
        assertEquals(watched.complaints, []);
      });
    }

    await t.step("Others reach Swagger UI, too, also with quotes in them", async () => {
      const parameters = {
        displayOperationId: true,
        filter: `o"p'&1`,
        tryItOutEnabled: true,
        supportedSubmitMethods: [],
      };
      await using server = serve(appWith(2, parameters).fetch);
      await using watched = await WatchedPage.open(browser, `${originOf(server)}/docs`, DESKTOP);
      const { page } = watched;
      assertEquals(await page.locator(".operation-filter-input").inputValue(), parameters.filter);
      await page.locator(".operation-filter-input").fill("");
      await page.locator(".opblock-summary-operation-id").first().waitFor();
      assertEquals(await page.locator(".opblock-summary-operation-id").allInnerTexts(), ["op0", "op1"]);
      await page.locator(".opblock-summary-control").first().click();
      await page.locator(".responses-table").waitFor();
      assertEquals(await page.getByRole("button", { name: "Execute" }).count(), 0);
      assertEquals(watched.complaints, []);
    });
  },
);

browserTest("The documentation page shows named examples, alternatives, links and callbacks", async (browser) => {
  const Item = v.pipe(v.object({ id: v.string(), price: v.number() }), v.title("Item"));
  const app = new App();
  app.post("/items", {
    body: Item,
    examples: {
      body: {
        cheap: { summary: "A cheap one", value: { id: "a", price: 3 } },
        dear: { value: { id: "b", price: 900 } },
      },
    },
    response: Item,
    responses: {
      200: { schema: Text("text/csv"), links: { again: { operationId: "addItem" } } },
      409: [Problem, { schema: Item, description: "It is there.", examples: { same: { value: { id: "same" } } } }],
    },
    callbacks: { sold: { url: "{$request.body#/id}", body: Item, summary: "It is sold" } },
  }, async function addItem(_request, { body }) {
    return body;
  });
  await using server = serve(app.fetch);
  await using watched = await openDocs(browser, server);
  const { page } = watched;
  const reply = await tryOut(page, "addItem", async () => {
    const body = operation(page, "addItem").locator(".opblock-section-request-body");
    assertMatch(await body.locator("textarea").inputValue(), /"price": 3/);
    await body.locator(".examples-select-element").selectOption("dear");
    await page.waitForFunction(
      `document.querySelector(".opblock-section-request-body textarea").value.includes("900")`,
    );
  });
  assertMatch(await reply.innerText(), /200[^]+"price": 900/);
  const texts = await operation(page, "addItem").innerText();
  for (const text of ["A cheap one", "It is there.", "text/csv"]) assertStringIncludes(texts, text);
  await operation(page, "addItem").getByText("Callbacks", { exact: true }).click();
  await operation(page, "addItem").getByText("It is sold").waitFor();
  assertEquals(watched.complaints, []);
});

browserTest(
  "The documentation page shows webhooks, with their headers and the model of their body",
  async (browser) => {
    const app = new App({ topics: ":memory:", title: "Shop" });
    const Paid = v.pipe(v.object({ order: v.number() }), v.title("Paid"));
    app.webhook("order.paid", { body: Paid, summary: "An order was paid", tags: ["Orders"] });
    app.get("/orders", async () => []);
    await using server = serve(app.fetch);
    await using watched = await openDocs(browser, server);
    const { page } = watched;
    const webhook = page.locator(".webhooks, .opblock-tag-section, .wrapper").filter({ hasText: "order.paid" }).first();
    await webhook.getByText("An order was paid").first().click();
    for (const name of ["webhook-id", "webhook-timestamp", "webhook-signature"]) {
      await page.getByText(name, { exact: false }).first().waitFor();
    }
    await page.locator(".models").getByText("Paid", { exact: true }).waitFor();
    assertEquals(watched.complaints, []);
    await app.stop();
  },
);
