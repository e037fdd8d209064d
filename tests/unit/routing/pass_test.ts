import { assert, assertEquals } from "@std/assert";
import type { GuardStep } from "../../../src/binding/scope_guards.ts";
import type { HttpRequest } from "../../../src/http/request.ts";
import { compilePass } from "../../../src/routing/pass.ts";

/** No step of these tests reads the request. */
const request = {} as HttpRequest;

Deno.test("The pass of one guard is the promise of that guard itself", async () => {
  const promise = Promise.resolve("made");
  const step: GuardStep = { index: 0, run: () => promise };
  assert(compilePass([step], true)!(request) === promise);
  assertEquals(await compilePass([step], false)!(request), ["made"]);
  assertEquals(compilePass([], false), undefined);
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
  assertEquals(await compilePass(steps, true)!(request), 1);
  assertEquals(await compilePass([...steps, step("two", 1, Promise.resolve(2))], false)!(request), [1, 2]);
  assertEquals(log.slice(3), ["count after []", "one after []", "count again after [1]", "two after [1]"]);
});
