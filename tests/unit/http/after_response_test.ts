import { assertEquals } from "@std/assert";
import { AfterResponse, BackgroundTasks, runAfterResponse } from "../../../src/http/after_response.ts";
import { PROCESS_LOGGER } from "../../../src/log/log.ts";
import { CapturedLog } from "../../spec/support/captured_log.ts";
import { ticks } from "../../spec/support/ticks.ts";

Deno.test("Tasks run in order, then cleanups in reverse, one after another", async () => {
  const order: string[] = [];
  const afterResponse = new AfterResponse(PROCESS_LOGGER);
  const later = (name: string) => async () => {
    await ticks(1);
    order.push(name);
  };
  afterResponse.addCleanup(later("cleanup 1"));
  afterResponse.addTask(later("task 1"));
  afterResponse.addCleanup(later("cleanup 2"));
  afterResponse.addTask(() => order.push("task 2"));
  await afterResponse.run();
  assertEquals(order, ["task 1", "task 2", "cleanup 2", "cleanup 1"]);
});

Deno.test("An error is logged, and the rest still runs", async () => {
  const order: string[] = [];
  const afterResponse = new AfterResponse(PROCESS_LOGGER);
  afterResponse.addTask(() => {
    throw new Error("task");
  });
  afterResponse.addTask(() => order.push("task"));
  afterResponse.addCleanup(() => order.push("cleanup"));
  afterResponse.addCleanup(() => Promise.reject("cleanup"));
  using log = new CapturedLog();
  await afterResponse.run();
  assertEquals([order, log.lines.length], [["task", "cleanup"], 2]);
});

function noting(order: string[]): AfterResponse {
  const afterResponse = new AfterResponse(PROCESS_LOGGER);
  afterResponse.addTask(() => order.push("done"));
  return afterResponse;
}

Deno.test("With a server, the work waits until the reply has been sent or has failed", async () => {
  for (const isLost of [false, true]) {
    const order: string[] = [];
    const sent = Promise.withResolvers<void>();
    const background = new BackgroundTasks();
    const response = new Response("x");
    const same = runAfterResponse(response, false, noting(order), background, sent.promise);
    await ticks(1);
    assertEquals([same === response, order], [true, []]);
    if (isLost) sent.reject(new Error("gone"));
    else sent.resolve();
    await background.done();
    assertEquals(order, ["done"]);
  }
});

Deno.test("Without a server, the work waits until the body is read, cancelled or broken", async () => {
  const ends: Record<string, (response: Response) => Promise<unknown>> = {
    "read out": (response) => response.text(),
    cancelled: (response) => response.body!.cancel(),
    broken: (response) => response.text().catch(() => {}),
  };
  for (const [name, end] of Object.entries(ends)) {
    const order: string[] = [];
    const background = new BackgroundTasks();
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
    const response = runAfterResponse(
      new Response(body, { status: 201, headers: { a: "b" } }),
      false,
      noting(order),
      background,
      undefined,
    );
    assertEquals([response.status, response.headers.get("a")], [201, "b"]);
    await ticks(1);
    assertEquals(order, [], name);
    await end(response);
    await background.done();
    assertEquals(order, name === "cancelled" ? ["told", "done"] : ["done"], name);
  }
});

Deno.test("After a reply without a body, or with a buffered one, the work runs at once", async () => {
  for (const response of [new Response(null, { status: 204 }), new Response("whole")]) {
    const order: string[] = [];
    const background = new BackgroundTasks();
    const afterResponse = noting(order);
    assertEquals(runAfterResponse(response, true, afterResponse, background, undefined), response);
    assertEquals(order, []);
    await background.done();
    assertEquals(order, ["done"]);
  }
});

Deno.test("drain() waits for all work, also for work that is added meanwhile", async () => {
  const background = new BackgroundTasks();
  await background.done();
  const [first, second] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  let isSettled = false;
  background.add(first.promise);
  const settled = background.done().then(() => isSettled = true);
  background.add(second.promise);
  first.resolve();
  await ticks(1);
  assertEquals(isSettled, false);
  second.resolve();
  await settled;
});
