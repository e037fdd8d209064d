// Results of tools from replies, and their bounds.

import { assert, assertEquals, assertRejects } from "@std/assert";
import { ReplyBudget, toResult } from "../../../../src/describe/mcp/tool_result.ts";
import { HTTPError } from "../../../../src/base/errors.ts";

const URL = "http://localhost/x";
const MAX_BYTES = 4 * 1024 * 1024;

/** An endless reply, and whether its body was cancelled. */
function endless(chunk: Uint8Array<ArrayBuffer>, type: string): { response: Response; wasCancelled: () => boolean } {
  let cancelled = false;
  const body = new ReadableStream({
    pull: (controller) => controller.enqueue(chunk),
    cancel: () => {
      cancelled = true;
    },
  });
  return { response: new Response(body, { headers: { "content-type": type } }), wasCancelled: () => cancelled };
}

Deno.test("A reply that is too large is an error, and its stream is cancelled", async () => {
  const { response, wasCancelled } = endless(new Uint8Array(64 * 1024), "text/plain");
  const error = await assertRejects(() => toResult(response, "open", new ReplyBudget(false), URL), HTTPError);
  assertEquals(error.detail, `The reply is larger than ${MAX_BYTES} bytes, ask for less`);
  assert(wasCancelled());
});

Deno.test("A reply of exactly the maximum size is a result", async () => {
  const { content } = await toResult(new Response("x".repeat(MAX_BYTES)), "open", new ReplyBudget(false), URL);
  assertEquals(content.map((block) => block.type === "text" && block.text.length), [MAX_BYTES]);
});

Deno.test("A stream of events is refused before it is read", async () => {
  const { response, wasCancelled } = endless(new Uint8Array(1), "text/event-stream; charset=utf-8");
  await assertRejects(() => toResult(response, "open", new ReplyBudget(false), URL), HTTPError, "stream of events");
  assert(wasCancelled());
});

Deno.test("A reply whose stream fails is no result", async () => {
  const body = new ReadableStream({ pull: (controller) => controller.error(new Error("broken")) });
  await assertRejects(() => toResult(new Response(body), "open", new ReplyBudget(false), URL), Error, "broken");
});

Deno.test("Malformed JSON is no result", async () => {
  const response = new Response("{", { headers: { "content-type": "application/json" } });
  await assertRejects(() => toResult(response, "open", new ReplyBudget(false), URL), SyntaxError);
});

Deno.test("The text of a result is exactly that of the reply", async () => {
  const text = '{"n":12345678901234567890.10}';
  const response = () => new Response(text, { headers: { "content-type": "application/json" } });
  const open = await toResult(response(), "open", new ReplyBudget(false), URL);
  assertEquals(open.content, [{ type: "text", text }]);
  const wrapped = await toResult(response(), "wrapped", new ReplyBudget(false), URL);
  assertEquals(wrapped.content, [{ type: "text", text: `{"result":${text}}` }]);
});

Deno.test("A reply without content type is a resource with its bytes", async () => {
  const { content } = await toResult(new Response(Uint8Array.of(0)), "open", new ReplyBudget(false), URL);
  assertEquals(content, [{
    type: "resource",
    resource: { uri: URL, mimeType: "application/octet-stream", blob: "AA==" },
  }]);
});

Deno.test("The text of a failure without body is its status", async () => {
  const { content, isError } = await toResult(
    new Response(null, { status: 418 }),
    "object",
    new ReplyBudget(false),
    URL,
  );
  assertEquals([content, isError], [[{ type: "text", text: "Status 418" }], true]);
});
