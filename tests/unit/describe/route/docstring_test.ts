import { assertEquals } from "@std/assert";
import { documentationOf } from "../../../../src/describe/route/docstring.ts";
import type { RouteDeclaration } from "../../../../src/http/route_info.ts";
import type { AnyHandler } from "../../../../src/routing/route.ts";

/** The documentation text of a handler. */
function textOf(handler: unknown, options: RouteDeclaration = {}) {
  return documentationOf({ options, handler: handler as AnyHandler });
}

/** The docstring of a handler whose source must stay unformatted. */
function textOfSource(source: string) {
  const handler: unknown = new Function(`return ${source}`)();
  return textOf(handler);
}

/** A source, and its docstring. */
type Case = readonly [source: string, summary: string | undefined];

function assertSummaries(cases: readonly Case[]): void {
  for (const [source, summary] of cases) assertEquals(textOfSource(source).summary, summary, source);
}

Deno.test("The first line of a docstring is the summary, the rest the description", () => {
  const text = textOf(async () => {
    "Get a book.\n\nThe rest of this text is the description.\nIn two lines.";
  });
  assertEquals(text, {
    summary: "Get a book.",
    description: "The rest of this text is the description.\nIn two lines.",
  });
});

Deno.test("A docstring of one line has no description, and a handler without docstring has no text", () => {
  assertEquals(
    textOf(async () => {
      "Get a book.";
    }),
    { summary: "Get a book." },
  );
  assertEquals(textOf(async () => {}), {});
  assertEquals(
    textOf(async () => {
      "";
    }),
    {},
  );
});

Deno.test("summary and description each override doc, and doc overrides the docstring", () => {
  const handler = async () => {
    "Docstring.\n\nIts rest.";
  };
  assertEquals(textOf(handler, { doc: "Doc.\nIts rest." }), { summary: "Doc.", description: "Its rest." });
  assertEquals(textOf(handler, { doc: "Doc." }), { summary: "Doc." });
  assertEquals(textOf(handler, { summary: "Summary" }), { summary: "Summary", description: "Its rest." });
  assertEquals(textOf(handler, { description: "Description" }), {
    summary: "Docstring.",
    description: "Description",
  });
  assertEquals(textOf(handler, { summary: "Summary", description: "Description", doc: "Doc.\nMore." }), {
    summary: "Summary",
    description: "Description",
  });
});

Deno.test("The indentation that all lines share is removed, further indentation stays", () => {
  const text = textOf(async () => {
    `
      Get a book.

      It is one of:
        - a novel
        - a play

          and code
    `;
  });
  assertEquals(text, {
    summary: "Get a book.",
    description: "It is one of:\n  - a novel\n  - a play\n\n    and code",
  });
  assertEquals(textOf(async () => {}, { doc: "Get.\r\n\r\n\tOne.\r\n\tTwo.  " }), {
    summary: "Get.",
    description: "One.\nTwo.",
  });
});

Deno.test("Every form of an async function can have a docstring", () => {
  class Handlers {
    static async declared() {
      "Static.";
    }
    static field = async () => {
      "Static field.";
    };
    async *method() {
      "Method.";
      yield 1;
    }
    static #hidden = async function hidden() {
      "Private.";
    };
    static get hidden() {
      return Handlers.#hidden;
    }
  }
  const summaries = [Handlers.declared, Handlers.field, new Handlers().method, Handlers.hidden]
    .map((handler) => textOf(handler).summary);
  assertEquals(summaries, ["Static.", "Static field.", "Method.", "Private."]);
  assertSummaries([
    ['async function f() { "Doc."; }', "Doc."],
    ['async function*f(){"Doc."}', "Doc."],
    ['async () => { "Doc."; }', "Doc."],
    ['async request => { "Doc."; }', "Doc."],
    ['async(e,{id:t})=>{"Doc.";return t}', "Doc."],
    ['({ async "=> {"() { "Doc."; } })["=> {"]', "Doc."],
    ['({ async ["a" + `${"("}`]() { "Doc."; } })["a("]', "Doc."],
    ['({ async *12() { "Doc."; } })[12]', "Doc."],
    ['({ async async() { "Doc."; } }).async', "Doc."],
    ["({ async $ü\\u0061() { 'Doc.'; } }).$üa", "Doc."],
    ["async function b\\u{61}() { 'Doc.' }", "Doc."],
  ]);
});

Deno.test("Braces and literals in parameters are not the body", () => {
  assertSummaries([
    ['async (r, { a = "){", b = {} } = { a: "}" }) => { "Doc."; }', "Doc."],
    ['async (r, a = `){ "No" ${`}${"{"}`} \\` `) => { "Doc."; }', "Doc."],
    ['async (r, a = /[)/{"]\\/"/gu, b = 1 / 2, c = (1) / 2) => { "Doc."; }', "Doc."],
    ['async (r, a = [1][0] / 2, b = "/") => { "Doc."; }', "Doc."],
    ['async (r, a = typeof /"/ , b = r++ / 2, c = "/") => { "Doc."; }', "Doc."],
    ['async (r, a = () => { "No"; return /}"/ }, b = class { x = ")" }) => { "Doc."; }', "Doc."],
    ["async (r /* ) { 'No' */, // ) { 'No'\n a) => { 'Doc.'; }", "Doc."],
    ["async (r, a = () => /'/, b = '') => { 'Doc.'; }", "Doc."],
  ]);
});

Deno.test("Comments and empty lines may come before a docstring", () => {
  assertSummaries([
    ["async () /* { */ => /* a */ { // 'No'\n\n /* 'No' */ 'Doc.' /* b */ ; }", "Doc."],
    ["async function /* ( */ f /* ( */ ( /* ) */ ) { 'Doc.' }", "Doc."],
  ]);
});

Deno.test("Escapes of every kind are read", () => {
  assertSummaries([
    ['async () => { "It\\\'s \\"\\x41\\u0042\\u{1F4D6}\\\\\\t\\q.\\\nNext\\\r\nlast" }', "It's \"AB📖\\\tq.Nextlast"],
    ["async () => { 'say \"x\"' }", 'say "x"'],
    ["async () => { `a \\` $ \\${b} $c \\\nd` }", "a ` $ ${b} $c d"],
    ["async () => { `one\r\ntwo` }", "one"],
  ]);
});

Deno.test("A literal in a larger expression is no docstring", () => {
  assertSummaries([
    ['async () => { "no" + 1 }', undefined],
    ['async () => { "no".length }', undefined],
    ['async () => { "no"\n  .length }', undefined],
    ['async () => { "no"\n  ["length"] }', undefined],
    ['async () => { "no", 1 }', undefined],
    ['async () => { "no" in {} }', undefined],
    ['async () => { "no"\n instanceof Object }', undefined],
    ['async () => { "no" ? 1 : 2 }', undefined],
    ['async () => { "no"\n != 1 }', undefined],
    ['async () => { return "no" }', undefined],
    ['async () => { const a = "no" }', undefined],
    ["async () => { `no ${1}` }", undefined],
    ['async () => { ("no") }', undefined],
    ['async () => "no"', undefined],
    ['async () => ({ a: "no" })', undefined],
    ["async () => {}", undefined],
  ]);
});

Deno.test("A docstring ends by a semicolon, with the body, or where the next line begins something new", () => {
  assertSummaries([
    ['async () => { "Doc."\n return 1 }', "Doc."],
    ['async () => { "Doc."\n ++globalThis.a }', "Doc."],
    ['async () => { "Doc." /*\n*/ indexedDB }', "Doc."],
    ['async () => { "Doc."\n instances }', "Doc."],
    ['async () => { "Doc."\n !1 }', "Doc."],
    ['async () => { "Doc."\n let index = 1 }', "Doc."],
  ]);
});

Deno.test("A directive is no docstring, but one may follow it", () => {
  assertSummaries([
    ['async () => { "use strict" }', undefined],
    ['async () => { "use strict"; "Doc."; }', "Doc."],
    ['async () => { "use client"\n"use strict";\n`Doc.` }', "Doc."],
    ['async () => { "use this to get a book" }', "use this to get a book"],
  ]);
});

Deno.test("A function whose source is not available has no docstring", () => {
  const handler = async () => {
    "Doc.";
  };
  assertEquals(textOf(handler.bind(null)), {});
  assertEquals(textOf(new Proxy(handler, {})), {});
  assertEquals(textOf(Object.assign(async () => {}, { toString: () => 'async () => { "Doc."; }' })), {});
});
