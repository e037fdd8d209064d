import { assert, assertEquals } from "@std/assert";
import { dependency } from "@webfw/core";
import * as v from "valibot";
import { compilePass, GuardLevel, type GuardStep, levelsOf } from "../../../src/binding/guards.ts";
import type { HttpRequest } from "../../../src/http/request.ts";
import { Scope } from "../../../src/routing/scope.ts";

const plain = dependency(async () => "plain");
const ofQuery = dependency({ query: { name: v.string() } }, async (_request, { name }) => name);

function scopeOf(deps: Record<string, unknown>): Scope {
  return new Scope({ deps }, "make a router", false);
}

function pathOf(...names: string[]) {
  return { all: names, own: new Set(names) };
}

/** No step of these tests reads the request. */
const request = {} as HttpRequest;

Deno.test("Routes share the guards of their scopes, unless these read the path", () => {
  const [outer, inner] = [scopeOf({ plain }), scopeOf({ ofQuery })];
  const [first, second] = levelsOf([outer, inner]);
  assertEquals(levelsOf([outer, inner]), [first, second]);
  assert(GuardLevel.of(undefined, inner) !== second, "in other scopes it is another level");
  assertEquals(first!.stepFor(pathOf("id"), "GET /{id}"), first!.stepFor(pathOf(), "GET /"));
  assertEquals(second!.stepFor(pathOf("id"), "GET /{id}"), second!.stepFor(pathOf(), "GET /"));
  const bound = second!.stepFor(pathOf("id", "name"), "GET /{id}/{name}");
  assert(bound !== second!.stepFor(pathOf(), "GET /"));
  assert(bound !== second!.stepFor(pathOf("name", "id"), "GET /{name}/{id}"), "the name has another place");
  assertEquals(bound, second!.stepFor(pathOf("id", "name"), "PUT /{id}/{name}"));
});

Deno.test("A scope without dependencies has no level, and one whose dependencies are made has no step", () => {
  const levels = levelsOf([scopeOf({ plain }), scopeOf({}), scopeOf({ again: plain })]);
  assertEquals(levels.map((level) => level?.stepFor(pathOf(), "GET /") !== undefined), [true, false, false]);
  assertEquals(levels[1], undefined);
});

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
