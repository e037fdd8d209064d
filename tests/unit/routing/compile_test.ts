import { assert, assertEquals } from "@std/assert";
import type { GuardStep } from "../../../src/binding/binder.ts";
import type { HttpRequest } from "../../../src/http/request.ts";
import { runInOrder } from "../../../src/routing/route.ts";

/** No step of these tests reads the request. */
const request = {} as HttpRequest;

Deno.test("What authorizes by one guard is the promise of that guard itself", async () => {
  const promise = Promise.resolve("made");
  const step: GuardStep = { index: 0, run: () => promise };
  assert(runInOrder([step], true)!(request) === promise);
  assertEquals(await runInOrder([step], false)!(request), ["made"]);
  assertEquals(runInOrder([], false), undefined);
});

Deno.test("Steps run one after another, those with nothing to wait for as well", async () => {
  const log: string[] = [];
  const step = (name: string, index: number | undefined, pending?: Promise<unknown>): GuardStep => ({
    index,
    run: (_request, values) => {
      log.push(`${name} after ${JSON.stringify(values)}`);
      return pending;
    },
  });
  const steps = [step("count", undefined), step("one", 0, Promise.resolve(1)), step("count again", undefined)];
  assertEquals(await runInOrder(steps, true)!(request), 1);
  assertEquals(await runInOrder([...steps, step("two", 1, Promise.resolve(2))], false)!(request), [1, 2]);
  assertEquals(log.slice(3), ["count after []", "one after []", "count again after [1]", "two after [1]"]);
});
