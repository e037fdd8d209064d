// Applications behave as their documents say: valid input is accepted, invalid input is refused,
// and the replies fit the document.
//
// A longer run:
// `WEBFW_SEEDS=100 WEBFW_ROUNDS=30 deno task deno test -A tests/describe/behaviour_test.ts`.
// One seed again: `WEBFW_SEED=7`.

import { assert, assertEquals } from "@std/assert";
import { join } from "node:path";
import { bookshop } from "../../examples/bookshop/bookshop.ts";
import { hostileApp as hostileTools } from "../agents/hostile_app.ts";
import { CapturedLog } from "../spec/support/captured_log.ts";
import { findFaults } from "./behaviour/conformity.ts";
import { shapedApp, undocumentedApp } from "./behaviour/shaped_app.ts";
import { stationsApp } from "./behaviour/stations_app.ts";
import type { Findings, Subject } from "./behaviour/subject.ts";
import { findToolFaults, type ToolSubject } from "./behaviour/tool_conformity.ts";
import { hostileApp } from "./hostile_app.ts";

/** How often each operation is asked. */
const ROUNDS = setting("ROUNDS", 8);
const FIRST_SEED = setting("SEED", 1);
const SEEDS = Array.from({ length: setting("SEEDS", 1) }, (_, index) => FIRST_SEED + index);
const MAX_TOLD = 10;

const ISBN = "The check digit of an ISBN";
const REST = "Not all agents can be told of items after the first ones";
const TRIMMED = "A length of the text without blanks around it";

function setting(name: string, usual: number): number {
  return Number(Deno.env.get(`WEBFW_${name}`) ?? usual);
}

/** Checks all seeds, and reports the first faults. */
async function holds(check: (seed: number) => Promise<Findings>): Promise<void> {
  using _log = new CapturedLog();
  for (const seed of SEEDS) {
    const { faults, sent } = await check(seed);
    assertEquals(faults.length, 0, faults.slice(0, MAX_TOLD).join("\n"));
    assert(sent.valid >= ROUNDS && sent.invalid >= ROUNDS, "Hardly anything was sent");
  }
}

async function documentOf({ fetch }: Pick<Subject, "fetch">): Promise<unknown> {
  const response = await fetch(new Request("http://localhost/openapi.json"));
  return await response.json();
}

async function holdsDocument(app: Pick<Subject, "fetch">, known: Omit<Subject, "fetch" | "document">): Promise<void> {
  const document = await documentOf(app);
  await holds((seed) => findFaults({ fetch: app.fetch, document, ...known }, seed, ROUNDS));
}

async function holdsTools(app: Pick<Subject, "fetch">, known: Omit<ToolSubject, "fetch"> = {}): Promise<void> {
  await holds((seed) => findToolFaults({ fetch: app.fetch, ...known }, seed, ROUNDS));
}

Deno.test("An application that is hard to describe behaves as its document says", async () => {
  await holdsDocument(hostileApp(), {
    isPure: true,
    failing: ["GET /replies/failure"],
    choosy: {
      "GET /parameters/query": { "query.trimmed": TRIMMED },
      "POST /models/lower": { body: "A pattern is held against the text in lower case" },
      "POST /models/flagged": { body: "JSON Schema has no flags of regular expressions" },
      "POST /models/trimmed": { body: TRIMMED },
      "POST /models/email": { body: "Of the addresses that have the format, valibot takes the usual ones" },
      "POST /models/checked": { body: "A check of the application's own" },
      "POST /models/big-object": { "body.big": "A bound of a bigint, which is a text" },
      "POST /models/to-number": { body: "A bound of the number that the text is turned into" },
      "POST /models/transformed": { "body.n": "A text that has to be turned into a number" },
    },
  });
});

Deno.test("An application that returns its input behaves as its document says", async () => {
  await holdsDocument(stationsApp(), {
    isPure: true,
    choosy: { "GET /search/{count}/{share}/{big}/{flag}/{kind}/{rest}": { "query.word": TRIMMED } },
  });
});

Deno.test("An application with its own error replies behaves as its document says", async () => {
  await holdsDocument(shapedApp(), { isPure: true, failing: ["GET /failure"] });
});

Deno.test("An application with undocumented error replies behaves as its document says", async () => {
  await holdsDocument(undocumentedApp(), { isPure: true, failing: ["GET /failure"] });
});

Deno.test("The bookshop behaves as its document says, and its tools as they are described", async () => {
  const folder = await Deno.makeTempDir({ prefix: "bookshop_" });
  const app = bookshop(join(folder, "shop.sqlite"));
  const tokens = ["ada", "grace"];
  await holdsDocument(app, {
    tokens,
    choosy: {
      "GET /shops/{slug}/books/{isbn}": { "path.isbn": ISBN },
      "PATCH /shops/{slug}/books/{isbn}": { "path.isbn": ISBN },
      "DELETE /shops/{slug}/books/{isbn}": { "path.isbn": ISBN },
      "POST /shops/{slug}/books": { "body.isbn": ISBN, "body.title": TRIMMED, "body.author": TRIMMED },
      "POST /shops/{slug}/orders": {
        "body.lines.*.isbn": `${ISBN}, and whether the shop has the book`,
        "body.lines": "A book stands in it once",
        "body.address.street": TRIMMED,
        "body.address.postcode": TRIMMED,
        "body.address.city": TRIMMED,
      },
    },
  });
  await holdsTools(app, {
    tokens,
    choosy: {
      getBook: { isbn: ISBN },
      placeOrder: { "body.lines": `${ISBN}; a book stands in it once, and the shop has it`, "body.address": TRIMMED },
    },
  });
  await app.stop();
  await Deno.remove(folder, { recursive: true });
});

Deno.test("Tools behave as they are described", async () => {
  await holdsTools(stationsApp(), {
    choosy: {
      searchAll: { word: TRIMMED },
      set: { "body.list": REST },
      setMany: { body: REST },
    },
  });
});

Deno.test("Tools that are hard to describe behave as they are described", async () => {
  await holdsTools(hostileTools(), { tokens: ["ada"], failing: ["fail"] });
});
