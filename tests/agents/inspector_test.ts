// The official inspector finds no fault with the tools of a hostile application, and calls them.

import { assertEquals, assertStringIncludes } from "@std/assert";
import { CapturedLog } from "../spec/support/captured_log.ts";
import { Serving } from "../spec/support/serving.ts";
import { CALLS, hostileApp } from "./hostile_app.ts";
import { hasPrograms, inFolder, INSPECTOR, run } from "./programs.ts";

const ignore = !await hasPrograms();

for (const era of ["legacy", "auto", "modern"]) {
  Deno.test(`The inspector lists and calls tools in its ${era} era`, { ignore }, () =>
    inFolder(async (folder) => {
      using _log = new CapturedLog();
      await using serving = await Serving.start(hostileApp());
      const inspect = (...args: string[]) =>
        run(INSPECTOR, ["--cli", `${serving.origin}/mcp`, "--protocol-era", era, "--method", ...args], folder);

      const list = await inspect("tools/list", "--strict");
      assertEquals(list.code, 0, list.stderr);
      assertStringIncludes(list.stderr, "0 errors");
      const { tools }: { tools: { name: string }[] } = JSON.parse(list.stdout);
      assertEquals(new Set(tools.map(({ name }) => name)), new Set(CALLS.map(({ name }) => name)));

      const { arguments: given, structured } = CALLS.find(({ name }) => name === "search")!;
      const call = ["tools/call", "--tool-name", "search", "--tool-args-json", JSON.stringify(given)];
      const called = await inspect(...call, "--header", "Authorization: Bearer ada");
      assertEquals(called.code, 0, called.stderr);
      assertEquals(JSON.parse(called.stdout).structuredContent, structured);

      const failed = await inspect("tools/call", "--tool-name", "fail", "--tool-args-json", '{"status":409}');
      assertEquals(failed.code, 5, failed.stderr);
      assertEquals(JSON.parse(failed.stdout).isError, true);
    }));
}
