import { assert, assertEquals } from "@std/assert";
import { dependency } from "@webfw/core";
import * as v from "valibot";
import { GuardLevel, levelsOf } from "../../../src/binding/scope_guards.ts";
import { Scope } from "../../../src/routing/scope.ts";

const plain = dependency(async () => "plain");
const ofQuery = dependency({ query: { name: v.string() } }, async (_request, { name }) => name);

function scopeOf(deps: Record<string, unknown>): Scope {
  return Scope.declare({ deps }, "make a router", false);
}

function pathOf(...names: string[]) {
  return { all: names, own: new Set(names) };
}

Deno.test("Routes share the guards of their scopes, unless these read the path", () => {
  const [outer, inner] = [scopeOf({ plain }), scopeOf({ ofQuery })];
  const [first, second] = levelsOf([outer, inner]);
  assertEquals(levelsOf([outer, inner]), [first, second]);
  assert(GuardLevel.of(undefined, inner) !== second, "in other scopes it is another level");
  assertEquals(first!.stepsFor(pathOf("id"), "GET /{id}"), first!.stepsFor(pathOf(), "GET /"));
  assertEquals(second!.stepsFor(pathOf("id"), "GET /{id}"), second!.stepsFor(pathOf(), "GET /"));
  const bound = second!.stepsFor(pathOf("id", "name"), "GET /{id}/{name}");
  assert(bound !== second!.stepsFor(pathOf(), "GET /"));
  assert(bound !== second!.stepsFor(pathOf("name", "id"), "GET /{name}/{id}"), "the name has another place");
  assertEquals(bound, second!.stepsFor(pathOf("id", "name"), "PUT /{id}/{name}"));
});

Deno.test("A scope without dependencies has no level, and one whose dependencies are made has no step", () => {
  const levels = levelsOf([scopeOf({ plain }), scopeOf({}), scopeOf({ again: plain })]);
  assertEquals(levels.map((level) => level?.stepsFor(pathOf(), "GET /").length), [1, undefined, 0]);
  assertEquals(levels[1], undefined);
});
