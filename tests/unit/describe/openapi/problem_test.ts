import { assertEquals } from "@std/assert";
import { HTTPError, Problem, type ProblemDetails } from "@webfw/core";
import * as v from "valibot";
import { assertType, type IsExact } from "../../../types/assert_type.ts";

Deno.test("The schema of a problem takes what HTTPError sends, and goes into the functions of valibot", () => {
  const problem = new HTTPError(409, "Taken", { extensions: { by: "Ada" } }).toProblem();
  assertEquals(v.parse(Problem, problem), problem);
  const Taken = v.pipe(v.intersect([Problem, v.looseObject({ by: v.string() })]), v.title("Taken"));
  assertEquals(v.parse(Taken, problem), problem);
  assertEquals(v.is(Taken, new HTTPError(409).toProblem()), false);
  assertEquals([v.getTitle(Problem), v.getTitle(Taken)], ["Problem", "Taken"]);
  assertType<IsExact<v.InferOutput<typeof Problem>, ProblemDetails>>(true);
  assertType<IsExact<v.InferInput<typeof Problem>, unknown>>(true);
});
