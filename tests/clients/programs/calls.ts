// Calls routes, on any platform. It is bundled for it.

import { client, ProblemError } from "../../../src/client/mod.ts";
import type * as api from "./calls_api.ts";

/** Calls routes below an address, and gives what came back, as JSON can write it. */
export async function run(base: string): Promise<Record<string, unknown>> {
  const shop = client<typeof api>(base, { headers: async () => ({ "x-token": "t" }) });
  const slug = "a b/ü";
  const found: Record<string, unknown> = {};

  found.book = await shop.get("/shops/{slug}/books/{id}", { slug, id: 1, tag: ["x&y", "+"] });
  const order = { title: "Emma", items: [{ id: 1, tags: ["a"] }, { id: 2, tags: ["b", "c"] }], note: null };
  found.order = await shop.post("/shops/{slug}/orders", { slug, body: order });
  const idempotent = { idempotent: true } as object;
  found.repeatable = await shop.post("/shops/{slug}/orders", { slug, body: order }, idempotent);
  found.dropped = String(await shop.delete("/shops/{slug}/books/{id}", { slug, id: 1 }));
  found.form = await shop.put("/shops/{slug}/form", { slug, form: order });
  const pictures = [new File(["1"], "a.png", { type: "image/png" }), new File(["2"], "ü.txt", { type: "text/plain" })];
  found.files = await shop.post("/shops/{slug}/pictures", { slug, form: { title: "ü", pictures } });
  found.bytes = await shop.put("/shops/{slug}/bytes", { slug, body: new Blob(["some bytes"]) });

  const numbers = await shop.get("/shops/{slug}/lines", { slug }) as AsyncIterable<{ n: number }>;
  const seen: number[] = [];
  for await (const { n } of numbers) seen.push(n);
  found.lines = seen;
  const picture = await shop.get("/shops/{slug}/picture", { slug }) as Blob;
  found.picture = [picture.type, await picture.text()];
  found.notes = await shop.get("/shops/{slug}/notes", { slug });
  found.who = await shop.get("/shops/{slug}/who", { slug, cookies: { sid: "client" } });

  const problem = await shop.get("/shops/{slug}/books/{id}", { slug, id: 10 }).catch((error) => error);
  found.problem = [problem instanceof ProblemError, problem.status, problem.problem.detail];
  const invalid = await shop.get("/shops/{slug}/books/{id}", { slug, id: 1.5 }).catch((error) => error);
  found.issues = invalid.issues.map(({ in: part, path }: { in: string; path: string[] }) => [part, ...path]);

  const stop = new AbortController();
  const waiting = shop.get("/shops/{slug}/wait", { slug }, { signal: stop.signal });
  stop.abort("enough");
  found.aborted = await waiting.catch((reason) => reason);
  const late = shop.get("/shops/{slug}/wait", { slug }, { timeout: 1 });
  found.late = await late.catch(({ name }) => name);
  const refused = await shop.get("/shops/{slug}/books/{id}", { slug: "..", id: 1 }).catch((error) => error);
  found.refused = refused instanceof TypeError;
  return found;
}

/** Whether a server that is gone is a failure as `fetch` reports it. */
export async function runWithoutServer(base: string): Promise<boolean> {
  const shop = client<typeof api>(base);
  const failure = await shop.get("/shops/{slug}/notes", { slug: "a" }).catch((error) => error);
  const expected = await fetch(`${base}/shops/a/notes`).catch((error) => error);
  return failure instanceof Error && failure.message === expected.message && failure.name === expected.name;
}
