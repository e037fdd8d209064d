import { assert, assertEquals, assertFalse, assertThrows } from "@std/assert";
import { App, redirect } from "@webfw/core";
import { HTTPError, isHTTPError, RouteError, ValidationError } from "../../../src/base/errors.ts";

Deno.test("A problem has the standard members first, then the extensions, which cannot replace them", () => {
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

Deno.test("A given cause is kept, even undefined, and otherwise there is none", () => {
  assert("cause" in new HTTPError(500, "x", { cause: undefined }));
  assertFalse("cause" in new HTTPError(500, "x"));
});

Deno.test("An HTTPError of any copy of the package is recognized", () => {
  const foreign = Object.assign(new Error("x"), { [Symbol.for("webfw.HTTPError")]: true });
  for (const error of [new HTTPError(400), new ValidationError([]), foreign]) assert(isHTTPError(error));
  const brand = { [Symbol.for("webfw.HTTPError")]: true };
  const others = [new Error("x"), new RouteError("path", "x"), brand, { status: 400 }, null, undefined, "x", 400];
  for (const other of others) assertFalse(isHTTPError(other));
});

Deno.test("A message distinguishes a number from a text that looks like one", () => {
  const mistakes: [make: () => unknown, message: string][] = [
    [
      () => new HTTPError("404" as unknown as number),
      'the status must be from 400 to 599, got "404"; write new HTTPError(404, "No such book")',
    ],
    [() => new HTTPError(200), "the status must be from 400 to 599, got 200"],
    [() => new HTTPError({} as unknown as number), "the status must be from 400 to 599, got object"],
    [() => redirect("/", "303" as unknown as number), 'must be 301, 302, 303, 307 or 308, got "303"'],
    [() => new App({ limits: { body: "10" as unknown as number } }), '"body" must be a positive number, got "10"'],
    [
      () => new App().get("/", { status: "201" as unknown as number }, async () => 1),
      'the status of a success must be from 200 to 399, got "201"',
    ],
  ];
  for (const [make, message] of mistakes) assertThrows(make, RangeError, message);
});
