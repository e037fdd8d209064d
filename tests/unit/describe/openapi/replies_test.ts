import { assertEquals, assertObjectMatch, assertThrows } from "@std/assert";
import { App, HTTPError, Problem, type ProblemDetails } from "@webfw/core";
import * as v from "valibot";
import type { JsonSchema } from "../../../../src/schema/json_schema.ts";
import { Models } from "../../../../src/describe/json_schema/models.ts";
import {
  checkErrorShape,
  type DocumentedErrors,
  ErrorReplies,
  repliesOf,
} from "../../../../src/describe/openapi/replies.ts";
import type { RouteDeclaration } from "../../../../src/http/route_info.ts";
import type { AnyHandler } from "../../../../src/routing/route.ts";
import { assertType, type IsExact } from "../../../types/assert_type.ts";

const json = (schema: JsonSchema) => ({ "application/json": { schema } });
const STRING = { type: "string" } as const;
const BYTES = { schema: { type: "string", format: "binary" } } as const;
const lines: AnyHandler = async function* () {
  yield 1;
};

const inputs = (canBeInvalid: boolean) => ({ canBeInvalid, dependencies: [] });

/** The replies, except for the ranges 4XX and 5XX. */
function describe(options: RouteDeclaration, handler: AnyHandler = async () => {}) {
  const models = new Models("#/components/schemas/");
  const route = { handler, operationId: "act", options, isLimited: false };
  const { "4XX": _4, "5XX": _5, ...replies } = repliesOf(route, inputs(false), models, new ErrorReplies("default"));
  models.definitions();
  return replies;
}

Deno.test("A model that can be undefined also has a reply without content, unless the route has one status", () => {
  const maybe = v.optional(v.string());
  assertEquals(describe({ response: maybe }), {
    200: { description: "OK", content: json(STRING) },
    204: { description: "No Content" },
  });
  assertEquals(describe({ response: maybe, status: 201 }), {
    201: { description: "Created", content: json(STRING) },
  });
  assertEquals(describe({ response: v.optional(v.string(), "x") }), {
    200: { description: "OK", content: json(STRING) },
  });
  assertEquals(describe({ response: v.void() }), { 204: { description: "No Content" } });
  assertEquals(describe({ response: v.undefined(), status: 202 }), { 202: { description: "Accepted" } });
});

Deno.test("A model without a name takes that of the operation and its role", () => {
  const model = v.object({ a: v.string() });
  assertEquals(describe({ response: model, responses: { 404: v.object({ b: v.string() }) } }), {
    200: { description: "OK", content: json({ $ref: "#/components/schemas/ActResult" }) },
    404: {
      description: "Not Found",
      content: json({ $ref: "#/components/schemas/ActResult404" }),
    },
  });
});

Deno.test("Statuses that never have a body have no content", () => {
  assertEquals(describe({ status: 204, responses: { 304: v.string(), 205: v.string() } }), {
    204: { description: "No Content" },
    205: { description: "Reset Content" },
    304: { description: "Not Modified" },
  });
});

Deno.test("The description of a schema is that of its reply, else the phrase of the status", () => {
  const Moved = v.pipe(v.void(), v.description("It is elsewhere"));
  assertEquals(describe({ response: v.string(), responses: { 303: Moved, 299: v.void() } }), {
    200: { description: "OK", content: json(STRING) },
    299: { description: "Status 299" },
    303: { description: "It is elsewhere" },
  });
});

Deno.test("A success among the responses is not described twice", () => {
  assertEquals(describe({ responses: { 202: v.string() } }), {
    202: { description: "Accepted", content: json(STRING) },
  });
  assertEquals(describe({ status: 202, responses: { 202: v.string() } }), {
    202: { description: "Accepted", content: json(STRING) },
  });
  assertEquals(describe({ response: v.string(), responses: { 200: v.string() } }), {
    200: { description: "OK", content: json(STRING) },
  });
  assertEquals(describe({ responses: { 404: v.void() } }), {
    200: { description: "OK", content: { "application/json": {} } },
    404: { description: "Not Found" },
  });
});

Deno.test("A stream is lines of a model, or lines or bytes of whatever is sent", () => {
  assertEquals(describe({ status: 206 }, lines), {
    206: { description: "Partial Content", content: { "application/jsonl": {}, "application/octet-stream": BYTES } },
  });
  assertEquals(describe({ responses: { 200: v.string() } }, lines), {
    200: { description: "OK", content: { "application/jsonl": { "x-itemSchema": STRING } } },
  });
});

Deno.test("Files and streams are sent as they are, with whatever type they have", () => {
  const image = v.pipe(v.blob(), v.mimeType(["image/png", "image/webp"]));
  assertEquals(describe({ response: v.file() }), { 200: { description: "OK", content: { "*/*": BYTES } } });
  assertEquals(describe({ response: image }), {
    200: { description: "OK", content: { "image/png": BYTES, "image/webp": BYTES } },
  });
  assertEquals(describe({ response: v.instance(ReadableStream) }), {
    200: { description: "OK", content: { "*/*": BYTES } },
  });
  const bytes = describe({ response: v.instance(Uint8Array) }, lines)["200"];
  assertObjectMatch(bytes!, { content: { "application/octet-stream": BYTES } });
});

Deno.test("A documented 422 replaces that of the framework", () => {
  const models = new Models("#/components/schemas/");
  const options = { responses: { 422: v.pipe(v.void(), v.description("Own")) } };
  const route = { handler: async () => {}, operationId: "act", options, isLimited: false };
  const replies = repliesOf(route, inputs(true), models, new ErrorReplies("default"));
  assertEquals(replies["422"], { description: "Own" });
});

const Failure = v.pipe(v.object({ error: v.string() }), v.title("Failure"));
const PROBLEM = { "application/problem+json": { schema: { $ref: "#/components/schemas/Problem" } } };

/** The content of the reply "Problem", and the content type of errors that routes declare. */
function errorContent(documented: DocumentedErrors): unknown {
  const models = new Models("#/components/schemas/");
  const errors = new ErrorReplies(documented);
  errors.of(false);
  const { Problem } = errors.definitions(models);
  models.definitions();
  return [Problem?.content, errors.contentTypeOf(Failure)];
}

Deno.test("Error replies are problems, unless the application says otherwise", () => {
  assertEquals(errorContent("default"), [PROBLEM, "application/json"]);
  const failure = { schema: { $ref: "#/components/schemas/Failure" } };
  assertEquals(errorContent({ schema: Failure }), [{ "application/json": failure }, "application/json"]);
  assertEquals(errorContent({ schema: Failure, contentType: "text/x" }), [{ "text/x": failure }, "text/x"]);
});

Deno.test("Undocumented error replies may be anything besides a problem", () => {
  assertEquals(errorContent("undocumented"), [{ ...PROBLEM, "*/*": {} }, "*/*"]);
});

Deno.test("A shape of error replies that no JSON can carry is an error where it is set", () => {
  const shape = { schema: v.object({ tags: v.set(v.string()) }) };
  const message =
    'Cannot set the error handler: cannot describe "error.tags": the kind "set" cannot be written to JSON';
  assertThrows(() => checkErrorShape(shape), TypeError, message);
  assertThrows(() => new App().onError(() => {}, shape), TypeError, message);
});

Deno.test("The schema of a problem accepts what HTTPError sends, and works in the functions of valibot", () => {
  const problem = new HTTPError(409, "Taken", { extensions: { by: "Ada" } }).toProblem();
  assertEquals(v.parse(Problem, problem), problem);
  const Taken = v.pipe(v.intersect([Problem, v.looseObject({ by: v.string() })]), v.title("Taken"));
  assertEquals(v.parse(Taken, problem), problem);
  assertEquals(v.is(Taken, new HTTPError(409).toProblem()), false);
  assertEquals([v.getTitle(Problem), v.getTitle(Taken)], ["Problem", "Taken"]);
  assertType<IsExact<v.InferOutput<typeof Problem>, ProblemDetails>>(true);
  assertType<IsExact<v.InferInput<typeof Problem>, unknown>>(true);
});
