import { assert, assertEquals, assertFalse } from "@std/assert";
import { HTTPError, isHTTPError, RouteError, ValidationError } from "../../src/errors.ts";

Deno.test("A problem has the standard members first, then the extensions, which replace none of them", () => {
  const extensions = { type: "x", title: "x", status: 1, detail: "x", instance: "/1", more: [1] };
  const error = new HTTPError(409, "Taken", { extensions });
  assertEquals(Object.entries(error.toProblem()), [
    ["type", "about:blank"],
    ["title", "Conflict"],
    ["status", 409],
    ["detail", "Taken"],
    ["instance", "/1"],
    ["more", [1]],
  ]);
});

Deno.test("Extensions never reach a prototype", () => {
  const extensions = JSON.parse('{"__proto__":{"polluted":1},"constructor":{"prototype":{"polluted":1}}}');
  const problem = new HTTPError(400, "x", { extensions }).toProblem();
  assertEquals([problem.polluted, ({} as Record<string, unknown>).polluted], [undefined, undefined]);
  assertEquals(Object.getPrototypeOf(problem), Object.prototype);
});

Deno.test("A cause is kept where one is given, be it undefined, and is not there otherwise", () => {
  assert("cause" in new HTTPError(500, "x", { cause: undefined }));
  assertFalse("cause" in new HTTPError(500, "x"));
});

Deno.test("An HTTPError of any copy of the package is told from other errors, whatever is thrown", () => {
  const foreign = Object.assign(new Error("x"), { [Symbol.for("webfw.HTTPError")]: true });
  for (const error of [new HTTPError(400), new ValidationError([]), foreign]) assert(isHTTPError(error));
  const brand = { [Symbol.for("webfw.HTTPError")]: true };
  const others = [new Error("x"), new RouteError("path", "x"), brand, { status: 400 }, null, undefined, "x", 400];
  for (const other of others) assertFalse(isHTTPError(other));
});
