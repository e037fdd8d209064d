// Every control of a form, submitted by a real browser in both encodings: filled in, and left as
// it was.

import { assertEquals } from "@std/assert";
import { App, Form, html, UploadFile } from "@webfw/core";
import type { Page } from "npm:playwright-core@^1.65.1";
import * as v from "valibot";
import { Serving } from "../spec/support/serving.ts";
import { browserTest } from "./support/browser.ts";

const CONTROLS = `
  <input type="checkbox" name="newsletter"><input type="checkbox" name="terms">
  <input type="checkbox" name="colors" value="red"><input type="checkbox" name="colors" value="blue">
  <input type="radio" name="size" value="s"><input type="radio" name="size" value="l">
  <input type="number" name="price" step="any"><input type="number" name="copies">
  <input type="range" name="volume" min="0" max="10" value="4">
  <input type="date" name="day"><input type="time" name="at"><input type="datetime-local" name="from">
  <input type="month" name="month"><input type="week" name="week">
  <input type="text" name="title"><input type="search" name="search"><input type="tel" name="phone">
  <input type="email" name="email"><input type="url" name="site"><input type="password" name="secret">
  <input type="color" name="color" value="#00ff00"><input type="hidden" name="version" value="3">
  <textarea name="note"></textarea>
  <select name="kind"><option value="">Choose<option value="1">One<option value="2">Two</select>
  <select name="tags" multiple><option>a<option>b<option>c</select>
  <input type="text" name="address[street]"><input type="number" name="rows[0][id]" step="any">`;

const FILES = `<input type="file" name="cover"><input type="file" name="pages" multiple>`;

const int = v.pipe(v.number(), v.integer());
const optional = <Schema extends v.GenericSchema>(schema: Schema) => v.optional(schema);

const Controls = v.object({
  newsletter: v.optional(v.boolean(), false),
  terms: optional(v.literal(true)),
  colors: v.optional(v.array(v.picklist(["red", "blue"])), []),
  size: optional(v.picklist(["s", "l"])),
  price: optional(v.number()),
  copies: optional(int),
  volume: int,
  day: optional(v.pipe(v.string(), v.isoDate(), v.toDate())),
  at: optional(v.pipe(v.string(), v.isoTime())),
  from: optional(v.pipe(v.string(), v.isoDateTime())),
  month: optional(v.pipe(v.string(), v.regex(/^\d{4}-\d{2}$/))),
  week: optional(v.pipe(v.string(), v.isoWeek())),
  title: v.string(),
  search: optional(v.string()),
  phone: optional(v.pipe(v.string(), v.minLength(3))),
  email: optional(v.pipe(v.string(), v.email())),
  site: optional(v.pipe(v.string(), v.url())),
  secret: optional(v.pipe(v.string(), v.minLength(8))),
  color: v.pipe(v.string(), v.hexColor()),
  version: int,
  note: optional(v.string()),
  kind: optional(v.picklist([1, 2])),
  tags: v.optional(v.array(v.string()), []),
  address: v.object({ street: v.string() }),
  rows: v.array(v.object({ id: optional(v.number()) })),
});

/** What is bound where nothing was filled in: a browser sends no unchecked box, and empty text. */
const LEFT = {
  newsletter: false,
  colors: [],
  volume: 4,
  title: "",
  search: "",
  color: "#00ff00",
  version: 3,
  note: "",
  tags: [],
  address: { street: "" },
  rows: [{}],
};

const FILLED = {
  newsletter: true,
  terms: true,
  colors: ["red", "blue"],
  size: "l",
  price: 0.5,
  copies: 7,
  volume: 9,
  day: "2026-11-28T00:00:00.000Z",
  at: "10:30",
  from: "2026-11-28T10:30",
  month: "2026-11",
  week: "2026-W48",
  title: "Zoë & “Émile” 😀",
  search: "a+b=c&d%",
  phone: "+49 1",
  email: "a@example.com",
  site: "https://example.com/?a=1",
  secret: "12345678",
  color: "#ff0000",
  version: 3,
  note: "one\r\ntwo",
  kind: 2,
  tags: ["a", "c"],
  address: { street: "High Street" },
  rows: [{ id: 1.5 }],
};

function taking(): App {
  const app = new App();
  const page = (attributes: string, controls: string) =>
    html(`<!doctype html><title>Form</title><form method="post" ${attributes}>${controls}<button>Send</button></form>`);
  const Uploads = v.object({
    ...Controls.entries,
    cover: optional(UploadFile),
    pages: v.optional(v.array(UploadFile), []),
  });
  app.get("/urlencoded", async () => page("", CONTROLS));
  app.post("/urlencoded", { form: Form(Controls) }, async (_request, { form }) => form);
  app.get("/multipart", async () => page('enctype="multipart/form-data"', CONTROLS + FILES));
  app.post("/multipart", { form: Form(Uploads) }, async (_request, { form: { cover, pages, ...form } }) => {
    assertEquals([cover, pages], [undefined, []]);
    return form;
  });
  return app;
}

async function fill(page: Page): Promise<void> {
  const field = (name: string) => page.locator(`[name="${name}"]`);
  const texts = {
    price: ".5",
    copies: "007",
    day: "2026-11-28",
    at: "10:30",
    from: "2026-11-28T10:30",
    month: "2026-11",
    week: "2026-W48",
    title: FILLED.title,
    search: FILLED.search,
    phone: FILLED.phone,
    email: FILLED.email,
    site: FILLED.site,
    secret: FILLED.secret,
    color: FILLED.color,
    note: "one\ntwo",
    volume: "9",
    "address[street]": "High Street",
    "rows[0][id]": "1.5",
  };
  for (const [name, text] of Object.entries(texts)) await field(name).fill(text);
  for (const name of ["newsletter", "terms"]) await field(name).check();
  for (const value of ["red", "blue"]) await page.locator(`[name="colors"][value="${value}"]`).check();
  await page.locator('[name="size"][value="l"]').check();
  await field("kind").selectOption("2");
  await field("tags").selectOption(["a", "c"]);
}

async function submit(page: Page): Promise<unknown> {
  const [response] = await Promise.all([
    page.waitForResponse((response) => response.request().method() === "POST"),
    page.getByRole("button", { name: "Send" }).click(),
  ]);
  return await response.json();
}

for (const path of ["urlencoded", "multipart"]) {
  browserTest(`Every control of a form is bound, filled in or left as it was: ${path}`, async (browser) => {
    await using serving = await Serving.start(taking());
    const page = await browser.newPage();
    await page.goto(`${serving.origin}/${path}`);
    assertEquals(await submit(page), LEFT);
    await page.goto(`${serving.origin}/${path}`);
    await fill(page);
    assertEquals(await submit(page), FILLED);
  });
}
