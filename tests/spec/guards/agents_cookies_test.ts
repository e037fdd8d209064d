// What becomes of the cookies that a call of a tool sets: the contract is silent about them.

import { assertEquals, assertStringIncludes } from "@std/assert";
import { App } from "@webfw/core";
import { Agent } from "../../agents/agent.ts";
import { CapturedLog } from "../support/captured_log.ts";

const URL = "http://localhost/mcp";

function callOf(name: string): Record<string, unknown> {
  return { jsonrpc: "2.0", id: 1, method: "tools/call", params: { name, arguments: {} } };
}

Deno.test("Cookies of a call are not on the reply to the agent, which is told once for each tool in the log", async () => {
  using log = new CapturedLog();
  const app = new App();
  app.post("/one", { tool: true }, async function one(request) {
    request.setCookie({ name: "one", value: "s3cret" });
    return "done";
  });
  app.post("/two", { tool: true }, async function two(request) {
    request.deleteCookie("two");
  });
  app.post("/none", { tool: true }, async function none() {});
  const agent = new Agent(app, URL);
  for (const message of [callOf("one"), callOf("none"), callOf("one"), [callOf("one"), callOf("two")]]) {
    const { status, headers } = await agent.post(message);
    assertEquals([status, headers.getSetCookie()], [200, []]);
  }
  assertEquals(await agent.result("one"), { result: "done" });
  assertEquals(log.lines.length, 2);
  for (const [index, name] of ["one", "two"].entries()) {
    assertStringIncludes(log.lines[index]!, "A tool sets cookies");
    assertStringIncludes(log.lines[index]!, `tool=${name}`);
  }
  assertEquals(log.lines.filter((line) => line.includes("s3cret")), []);
});
