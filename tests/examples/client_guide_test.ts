// The programs of docs/client.md do what the guide says. `deno task check` checks their types.

import { assertEquals, assertStringIncludes } from "@std/assert";
import { prepareDeno } from "../../dev/tools/deno.ts";
import { Serving } from "../spec/support/serving.ts";
import { ClientGuide } from "../support/client_guide.ts";

/** What each program prints, in the order in which they run. */
const PRINTED = {
  "calls.ts": ["2", "Middlemarch", "404 No such book"],
  "upload.ts": ["Sent"],
  "listen.ts": ["Middlemarch"],
  "talk.ts": ["Hello"],
  "stay.ts": ["Still here"],
  "tokens.ts": ["Persuasion"],
};

async function deno(args: string[], cwd: string): Promise<string> {
  await using prepared = await prepareDeno(args, { cwd, env: { NO_COLOR: "1" }, stdin: "null" });
  const { success, stdout, stderr } = await prepared.command.output();
  const printed = new TextDecoder().decode(stdout);
  assertEquals(success, true, printed + new TextDecoder().decode(stderr));
  return printed;
}

Deno.test("the programs of the guide to the client do what it says", async () => {
  await using guide = await ClientGuide.open();
  const { folder } = guide;
  await using serving = await Serving.start(await guide.server());
  const names = Object.keys(PRINTED);
  for (const name of [...names, "books_test.ts"]) await guide.write(name, folder, serving.origin);
  for (const [name, lines] of Object.entries(PRINTED)) {
    assertEquals(await deno(["run", "-A", "--no-check", "--no-lock", name], folder), `${lines.join("\n")}\n`, name);
  }
  assertStringIncludes(await deno(["test", "--no-check", "--no-lock", "books_test.ts"], folder), "1 passed");
});
