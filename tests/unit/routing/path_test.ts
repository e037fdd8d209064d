import { assertEquals, assertThrows } from "@std/assert";
import { RouteError } from "../../../src/base/errors.ts";
import { parsePath, parsePrefix } from "../../../src/routing/path.ts";

Deno.test("A template is parsed into literals, names and a rest", () => {
  const { text, segments, names, shape } = parsePath("/a/{id}//{_x$1}/{päth...}", "test");
  assertEquals(text, "/a/{id}//{_x$1}/{päth...}");
  assertEquals(segments, [
    { kind: "literal", text: "a" },
    { kind: "name", name: "id" },
    { kind: "literal", text: "" },
    { kind: "name", name: "_x$1" },
    { kind: "rest", name: "päth" },
  ]);
  assertEquals(names, ["id", "_x$1", "päth"]);
  assertEquals(shape, "/a/{}//{}/{...}");
});

Deno.test("The empty template and the slash are two shapes", () => {
  assertEquals(parsePath("", "test").segments, []);
  assertEquals(parsePath("/", "test").segments, [{ kind: "literal", text: "" }]);
});

Deno.test("A segment is a literal, or exactly a name that is an identifier; anything else cannot be read", () => {
  const wrong = [
    "a",
    "a/b",
    "{id}",
    "/{}",
    "/{1a}",
    "/{a-b}",
    "/{a b}",
    "/{a.b}",
    "/{a:int}",
    "/{a?}",
    "/{a*}",
    "/{a..}",
    "/{a....}",
    "/{...}",
    "/{...a}",
    "/{a...}/b",
    "/{a...}/",
    "/{a...}/{b...}",
    "/{a",
    "/a}",
    "/{a}b",
    "/b{a}",
    "/{a}{b}",
    "/{{a}}",
    "/{a}/{a}",
    "/{a}/{a...}",
    "/a?b",
    "/a#b",
    "/%41",
    "/a/../b",
    "/./a",
    "/{__proto__}",
    "/{a\n}",
    "/{​a}",
  ];
  for (const text of wrong) {
    assertEquals(assertThrows(() => parsePath(text, "test"), RouteError, undefined, text).code, "path", text);
  }
  for (const text of [null, undefined, 5, {}, ["/a"]]) {
    assertEquals(assertThrows(() => parsePath(text as string, "test"), RouteError).code, "path");
  }
});

Deno.test("Literals may contain all characters of paths", () => {
  for (
    const text of [
      "/a.b",
      "/a-b_c~d",
      "/@me",
      "/~user",
      "/a+b",
      "/a b",
      "/é",
      "/日本",
      "/a;b=c",
      "/...",
      "/(x)",
      "/books:batch",
      "/urn:isbn:1",
      "/a::b",
      "/12:30",
      "/:",
      "/::1",
      "/:30",
      "/a*b",
      "/a*",
      "/a[b]",
      "/[a]b",
      "/<a>b",
      "/[1]",
      "/[::1]",
      "/[]",
      "/[a",
      "/a<b>",
      "/<3",
      "/<a",
      "/a>b",
    ]
  ) {
    assertEquals(parsePath(text, "test").segments, [{ kind: "literal", text: text.slice(1) }]);
  }
});

Deno.test("A segment that begins as a parameter of another framework cannot be read, and the message has the cure", () => {
  const table: [segment: string, cure: string][] = [
    [":id", "{id}"],
    [":id?", "{id}"],
    [":id(\\d+)", "{id}"],
    [":id.json", "{id}"],
    [":from-:to", "{from}"],
    [":größe", "{größe}"],
    [":rest*", "{rest...}"],
    [":rest+", "{rest...}"],
    [":rest(.*)", "{rest...}"],
    ["*", "{path...}"],
    ["**", "{path...}"],
    ["*splat", "{splat...}"],
    ["**:slug", "{slug...}"],
    ["*.js", "{path...}"],
    ["(.*)", "{path...}"],
    ["(.+)", "{path...}"],
    ["[id]", "{id}"],
    ["[id].json", "{id}"],
    ["[from]-[to]", "{from}"],
    ["<id>.json", "{id}"],
    ["[id=integer]", "{id}"],
    ["[[lang]]", "{lang}"],
    ["[...rest]", "{rest...}"],
    ["[[...rest]]", "{rest...}"],
    ["<id>", "{id}"],
    ["<int:id>", "{id}"],
    ["<path:rest>", "{rest...}"],
    ["{id:int}", "{id}"],
    ["{id?}", "{id}"],
    ["{id:[0-9]+}", "{id}"],
    ["{{id}}", "{id}"],
    ["{rest:path}", "{rest...}"],
    ["{rest*}", "{rest...}"],
    ["{rest+}", "{rest...}"],
    ["{*rest}", "{rest...}"],
    ["{**rest}", "{rest...}"],
    ["{+rest}", "{rest...}"],
    ["{...rest}", "{rest...}"],
  ];
  for (const [segment, cure] of table) {
    const error = assertThrows(() => parsePath(`/a/${segment}`, "register GET"), RouteError);
    assertEquals(error.code, "path", segment);
    assertEquals(
      error.message,
      `Cannot register GET at "/a/${segment}": "${segment}" is no parameter here, write "${cure}"`,
    );
  }
});

Deno.test("The rest syntax of other frameworks is one segment before others, and nothing at the end of a prefix", () => {
  const { message } = assertThrows(() => parsePath("/*/a", "test"), RouteError);
  assertEquals(message, 'Cannot test at "/*/a": "*" is no parameter here, write "{path}"');
  for (const prefix of ["/api/*", "/api/{rest*}"]) {
    const error = assertThrows(() => parsePrefix(prefix, "test"), RouteError);
    assertEquals(error.code, "path");
    assertEquals(error.message.endsWith(", leave it out: a prefix takes what follows by itself"), true, error.message);
  }
});

Deno.test("The message names the action, the template and the reason", () => {
  const { message } = assertThrows(() => parsePath("/{a}/{a}", "register GET"), RouteError);
  assertEquals(message.startsWith('Cannot register GET at "/{a}/{a}": '), true, message);
});

Deno.test("A prefix does not end with a slash and contains no rest parameter", () => {
  assertEquals(parsePrefix("", "test").segments, []);
  assertEquals(parsePrefix("/a/{b}", "test").names, ["b"]);
  for (const text of ["/", "/a/", "/{a...}", "a", 5, null]) {
    assertEquals(assertThrows(() => parsePrefix(text as string, "test"), RouteError).code, "path", String(text));
  }
});
