import { assertEquals } from "@std/assert";
import { completeAfter, Completion, PendingWork } from "../../../src/http/completion.ts";
import { CapturedLog } from "../../spec/support/captured_log.ts";

Deno.test("Tasks run in their order, then cleanups in reverse, each waited for", async () => {
  const order: string[] = [];
  const completion = new Completion();
  const later = (name: string) => async () => {
    await new Promise((resolve) => setTimeout(resolve, 0));
    order.push(name);
  };
  completion.addCleanup(later("cleanup 1"));
  completion.addTask(later("task 1"));
  completion.addCleanup(later("cleanup 2"));
  completion.addTask(() => order.push("task 2"));
  await completion.run();
  assertEquals(order, ["task 1", "task 2", "cleanup 2", "cleanup 1"]);
});

Deno.test("What throws is logged, and the others still run", async () => {
  const order: string[] = [];
  const completion = new Completion();
  completion.addTask(() => {
    throw new Error("task");
  });
  completion.addTask(() => order.push("task"));
  completion.addCleanup(() => order.push("cleanup"));
  completion.addCleanup(() => Promise.reject("cleanup"));
  using log = new CapturedLog();
  await completion.run();
  assertEquals([order, log.lines.length], [["task", "cleanup"], 2]);
});

function noting(order: string[]): Completion {
  const completion = new Completion();
  completion.addTask(() => order.push("done"));
  return completion;
}

Deno.test("With a server the work waits until the reply was sent, or cannot be any more", async () => {
  for (const isLost of [false, true]) {
    const order: string[] = [];
    const sent = Promise.withResolvers<void>();
    const pending = new PendingWork();
    const response = new Response("x");
    const same = completeAfter(response, noting(order), pending, sent.promise);
    await new Promise((resolve) => setTimeout(resolve, 0));
    assertEquals([same === response, order], [true, []]);
    if (isLost) sent.reject(new Error("gone"));
    else sent.resolve();
    await pending.settled();
    assertEquals(order, ["done"]);
  }
});

Deno.test("Without a server the work waits for the end of the body: read out, cancelled or broken", async () => {
  const ends: Record<string, (response: Response) => Promise<unknown>> = {
    "read out": (response) => response.text(),
    cancelled: (response) => response.body!.cancel(),
    broken: (response) => response.text().catch(() => {}),
  };
  for (const [name, end] of Object.entries(ends)) {
    const order: string[] = [];
    const pending = new PendingWork();
    let isFirst = true;
    const body = new ReadableStream({
      pull(controller) {
        if (isFirst) controller.enqueue(new Uint8Array([65]));
        else if (name === "broken") controller.error(new Error("broken"));
        else controller.close();
        isFirst = false;
      },
      cancel: () => void order.push("told"),
    }, { highWaterMark: 0 });
    const response = completeAfter(
      new Response(body, { status: 201, headers: { a: "b" } }),
      noting(order),
      pending,
      undefined,
    );
    assertEquals([response.status, response.headers.get("a")], [201, "b"]);
    await new Promise((resolve) => setTimeout(resolve, 0));
    assertEquals(order, [], name);
    await end(response);
    await pending.settled();
    assertEquals(order, name === "cancelled" ? ["told", "done"] : ["done"], name);
  }
});

Deno.test("A reply without a body, or one that was built whole, is over at once", async () => {
  for (const response of [new Response(null, { status: 204 }), new Response("whole")]) {
    const order: string[] = [];
    const pending = new PendingWork();
    const completion = noting(order);
    completion.whole = response;
    assertEquals(completeAfter(response, completion, pending, undefined), response);
    assertEquals(order, []);
    await pending.settled();
    assertEquals(order, ["done"]);
  }
});

Deno.test("Pending work is settled when the last of it is over, also what comes while it is waited for", async () => {
  const pending = new PendingWork();
  await pending.settled();
  const [first, second] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  let isSettled = false;
  pending.add(first.promise);
  const settled = pending.settled().then(() => isSettled = true);
  pending.add(second.promise);
  first.resolve();
  await new Promise((resolve) => setTimeout(resolve, 0));
  assertEquals(isSettled, false);
  second.resolve();
  await settled;
});
