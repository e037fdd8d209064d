// Arguments of tools: they are checked as JSON, before path and query turn them into text.

import { assertEquals } from "@std/assert";
import { App } from "@webfw/core";
import * as v from "valibot";
import { Agent } from "../../../agents/agent.ts";

const int = v.pipe(v.number(), v.integer());

function agentOf(): Agent {
  const app = new App();
  app.post("/{free}/{id}", {
    params: { id: int },
    query: {
      tags: v.optional(v.array(v.string())),
      either: v.optional(v.union([int, v.literal("all"), v.null()])),
      flag: v.optional(v.boolean()),
      big: v.optional(v.bigint()),
      any: v.optional(v.any()),
      later: v.optionalAsync(v.pipeAsync(v.number(), v.checkAsync(async (value) => value < 9, "Too large"))),
    },
    body: v.object({ name: v.string() }),
    tool: true,
  }, async function post(_request, args) {
    return args;
  });
  return new Agent(app);
}

const GIVEN = { free: "x", id: 1, body: { name: "a" } };

Deno.test("An argument is checked as JSON, by the schema that the agent knows", async () => {
  const agent = agentOf();
  const all = { ...GIVEN, tags: ["x"], either: null, flag: false, big: "5", any: "1", later: 1 };
  assertEquals(await agent.result("post", all), all);
  const expected = (name: string, type: string) =>
    `422 Invalid input: The request does not fit its description\n- ${name}: Invalid type: expected ${type}`;
  assertEquals(await agent.failure("post", { ...GIVEN, free: 7 }), expected("free", "string"));
  assertEquals(await agent.failure("post", { ...GIVEN, id: "1" }), expected("id", "number"));
  assertEquals(await agent.failure("post", { ...GIVEN, tags: "x" }), expected("tags", "Array"));
  assertEquals(await agent.failure("post", { ...GIVEN, tags: [null] }), expected("tags.0", "string"));
  assertEquals(await agent.failure("post", { ...GIVEN, either: "30" }), expected("either", '(number | "all" | null)'));
  assertEquals(await agent.failure("post", { ...GIVEN, flag: 1 }), expected("flag", "boolean"));
  assertEquals(await agent.failure("post", { ...GIVEN, big: 5 }), expected("big", "bigint"));
});

Deno.test("All faults of arguments are listed at once, those of the body too", async () => {
  assertEquals(
    await agentOf().failure("post", { ...GIVEN, id: "1", other: 1, any: [[]], body: { name: 5 } }),
    [
      "422 Invalid input: The request does not fit its description",
      "- other: Unknown argument: expected free, id, tags, either, flag, big, any, later, body",
      "- id: Invalid type: expected number",
      "- any: Must be a value without parts, or a list of them",
      "- body.name: Invalid type: expected string",
    ].join("\n"),
  );
});

Deno.test("An async schema is checked by the route", async () => {
  const failure = await agentOf().failure("post", { ...GIVEN, later: 9 });
  assertEquals(failure, "422 Invalid input: The request does not fit its description\n- later: Too large");
});
