// schemathesis sends valid and invalid requests that it makes from the documents, and checks the
// replies.
//
// A longer run: `WEBFW_EXAMPLES=300 deno task deno test -A tests/describe/schemathesis_test.ts`.
// Another run: `WEBFW_SEED=7`.

import { assertRejects } from "@std/assert";
import { App } from "@webfw/core";
import { join } from "node:path";
import * as v from "valibot";
import { CapturedLog } from "../spec/support/captured_log.ts";
import { Serving } from "../spec/support/serving.ts";
import { Documents } from "./documents.ts";
import { TOKEN } from "./museum_accounts.ts";
import { isMissing, PYTHON_FOLDER, Toolbox } from "./toolbox.ts";

const toolbox = await Toolbox.python();
const ignore = await isMissing(toolbox);
/**
 * The number of random requests for each operation, besides those that systematically cover its
 * schemas.
 */
const EXAMPLES = Deno.env.get("WEBFW_EXAMPLES") ?? "5";
const SEED = Deno.env.get("WEBFW_SEED") ?? "1";

/** Has requests made of an application, with the headers in each of them. */
async function attack<State>(app: App<State>, headers: readonly string[], folder: string): Promise<void> {
  using _log = new CapturedLog();
  await using serving = await Serving.start(app);
  const amount = ["--max-examples", EXAMPLES, "--seed", SEED];
  const options = [...amount, ...headers.flatMap((header) => ["--header", header])];
  const config = join(PYTHON_FOLDER, "schemathesis.toml");
  const args = ["--config-file", config, "run", `${serving.origin}/openapi.json`, ...options];
  await toolbox.run("schemathesis", args, folder, { PYTHONPATH: PYTHON_FOLDER });
}

Deno.test("schemathesis finds nothing wrong with the bookshop", { ignore }, async () => {
  await using documents = await Documents.write();
  await attack(documents.bookshop, ["Authorization: Bearer grace"], documents.folder);
});

Deno.test("schemathesis finds nothing wrong with the museum", { ignore }, async () => {
  await using documents = await Documents.write();
  await attack(documents.museum, [`Authorization: Bearer ${TOKEN}`, `X-Key: ${TOKEN}`], documents.folder);
});

Deno.test("schemathesis is awake: it finds a reply that is not as the document says", { ignore }, async () => {
  await using documents = await Documents.write();
  const app = new App();
  app.get("/numbers", { response: v.object({ number: v.number() }) }, async () => ({ number: 1 }));
  app.middleware(async (request, next) => {
    return request.path === "/numbers" ? Response.json({ number: "1" }) : await next(request);
  });
  await assertRejects(() => attack(app, [], documents.folder), Error, "Response violates schema");
});
