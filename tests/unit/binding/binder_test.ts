import { assertEquals } from "@std/assert";
import { dependency } from "@webfw/core";
import * as v from "valibot";
import { compileBinder } from "../../../src/binding/binder.ts";
import { toDependencies } from "../../../src/binding/dependency.ts";
import { checkInputs, declareInputs, NO_INPUTS } from "../../../src/binding/inputs.ts";

const plain = dependency(async () => "plain");
const roled = dependency(
  { deps: { plain }, security: { key: { type: "http", scheme: "bearer" } } },
  async () => "role",
);

function levelOf(deps: Record<string, unknown>) {
  return { deps: toDependencies(deps), counted: [] };
}

Deno.test("What an outer level has made is not made again, and a level without dependencies has no step", () => {
  const levels = [levelOf({ plain }), levelOf({}), levelOf({ again: plain }), levelOf({ roled, plain })];
  const binder = compileBinder({ inputs: NO_INPUTS, pathNames: [], name: "GET /", levels });
  assertEquals(binder.guards.map((steps) => steps.length), [1, 0, 0, 1]);
  assertEquals([...binder.indices.values()], [0, 1]);
  assertEquals([binder.hasGuards, binder.isSingle, binder.resolve], [true, false, undefined]);
});

Deno.test("Only guards run before the input, and the others of the route after it", () => {
  const levels = [levelOf({}), levelOf({ plain, other: async () => 1 })];
  const binder = compileBinder({ inputs: NO_INPUTS, pathNames: [], name: "GET /", levels });
  assertEquals([binder.guards, binder.hasGuards, binder.resolve === undefined], [[[], []], false, false]);
});

Deno.test("A schema is coerced once for all checks and compilations of the routes that use it", () => {
  let reads = 0;
  const number = v.number();
  // Only the coercion reads the kind of a schema more than once.
  const counting = {
    ...number,
    get type() {
      reads++;
      return number.type;
    },
  } as typeof number;
  const scope = levelOf({});
  const own = levelOf({});
  const params = { id: counting };
  const declare = (path: string) => declareInputs({ params }, { params }, new Set(["id"]), scope.deps, own.deps, path);
  checkInputs(declare("GET /{id}"), ["id"], [scope, own], "GET /{id}");
  const before = reads;
  const inputs = declare("GET /shop/{id}");
  const declared = reads - before;
  checkInputs(inputs, ["shop", "id"], [scope, own], "GET /shop/{id}");
  compileBinder({ inputs, pathNames: ["shop", "id"], name: "GET /shop/{id}", levels: [scope, own] });
  assertEquals(reads - before, declared);
});
