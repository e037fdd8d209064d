// The lint plugin: what it reports, and what it accepts.

import { assertEquals, assertStringIncludes } from "@std/assert";
import { join } from "node:path";
import { listOfFloors } from "../../dev/tools/lint/layers.ts";
import plugin from "../../dev/tools/lint/plugin.ts";

const ROOT = join(import.meta.dirname!, "..", "..");

/** The ids and messages of the reports, in the order of the text. */
function lint(file: string, source: string): string[] {
  return Deno.lint.runPlugin(plugin, join(ROOT, file), source)
    .toSorted((a, b) => a.range[0] - b.range[0])
    .map(({ id, message }) => `${id}: ${message}`);
}

function reports(rule: string, cases: [string, string, string][]) {
  for (const [file, source, message] of cases) {
    assertEquals(lint(file, source), [`webfw/${rule}: ${message}`], source);
  }
}

function accepts(cases: [string, string][]) {
  for (const [file, source] of cases) {
    assertEquals(lint(file, source), [], `${file}: ${source}`);
  }
}

Deno.test("an import of a higher layer is reported in each of its forms", () => {
  const file = "src/http/request.ts";
  const forms = [
    `import { App } from "../app/app.ts";`,
    `import "../app/app.ts";`,
    `import * as app from "../app/app.ts";`,
    `import type { App } from "../app/app.ts";`,
    `import { type App } from "../app/app.ts";`,
    `export { App } from "../app/app.ts";`,
    `export type { App } from "../app/app.ts";`,
    `export * from "../app/app.ts";`,
    `export * as app from "../app/app.ts";`,
    `export type * from "../app/app.ts";`,
    `const app = await load(() => import("../app/app.ts"));`,
    `let app: import("../app/app.ts").App;`,
    `type Module = typeof import("../app/app.ts");`,
    `import app = require("../app/app.ts");`,
  ];
  reports(
    "import-direction",
    forms.map((
      form,
    ) => [file, form, "src/http/request.ts must not import src/app/app.ts"]),
  );
});

Deno.test("each layer may import the layers below it and none above", () => {
  const layers = [
    "src/base/errors.ts",
    "src/schema/schema.ts",
    "src/store/topic_store.ts",
    "src/topics/topic.ts",
    "src/http/request.ts",
    "src/binding/binder.ts",
    "src/auth/bearer.ts",
    "src/routing/table.ts",
    "src/server/serve.ts",
    "src/app/app.ts",
    "mod.ts",
  ];
  for (const [low, below] of layers.entries()) {
    for (const above of layers.slice(low + 1)) {
      accepts([[above, `import "${specifier(above, below)}";`]]);
      reports("import-direction", [[
        below,
        `import "${specifier(below, above)}";`,
        `${below} must not import ${above}`,
      ]]);
    }
  }
});

/** How one module of the repository names another. */
function specifier(from: string, to: string): string {
  const up = from.split("/").length - 1;
  return up === 0 ? `./${to}` : `${"../".repeat(up)}${to}`;
}

Deno.test("folders side by side on one floor do not see one another", () => {
  reports("import-direction", [
    [
      "src/describe/route_check.ts",
      `import "../server/serve.ts";`,
      "src/describe/route_check.ts must not import src/server/serve.ts",
    ],
    [
      "src/schema/schema.ts",
      `import type { Log } from "../log/log.ts";`,
      "src/schema/schema.ts must not import src/log/log.ts",
    ],
    ["mod.ts", `export * from "./src/testing/mod.ts";`, "mod.ts must not import src/testing/mod.ts"],
  ]);
});

Deno.test("the command line and the framework do not see one another", () => {
  reports("import-direction", [
    ["cli.ts", `import "./src/app/app.ts";`, "cli.ts must not import src/app/app.ts"],
    [
      "src/cli/run.ts",
      `import type { HTTPError } from "../base/errors.ts";`,
      "src/cli/run.ts must not import src/base/errors.ts",
    ],
    [
      "src/cli/run.ts",
      `import "../../cli.ts";`,
      "src/cli/run.ts must not import cli.ts",
    ],
    [
      "src/server/serve.ts",
      `import "../cli/run.ts";`,
      "src/server/serve.ts must not import src/cli/run.ts",
    ],
    ["mod.ts", `export * from "./cli.ts";`, "mod.ts must not import cli.ts"],
  ]);
  accepts([
    ["cli.ts", `import { run } from "./src/cli/run.ts";`],
    ["src/cli/run.ts", `import { findConfig } from "./config.ts";`],
  ]);
});

Deno.test("imports without a layer are reported: a module, a target, a computed import, the own package", () => {
  reports("import-direction", [
    ["src/extras.ts", `export {};`, "src/extras.ts belongs to no layer"],
    [
      "src/extras/a.ts",
      `import "../app/app.ts";`,
      "src/extras/a.ts belongs to no layer",
    ],
    [
      "src/app/app.ts",
      `import "../../tests/support.ts";`,
      "src/app/app.ts must not import tests/support.ts",
    ],
    [
      "src/app/app.ts",
      `await load(() => import(name));`,
      "A computed import cannot be given a layer",
    ],
    [
      "src/app/app.ts",
      `import { text } from "@webfw/core";`,
      "src/app/app.ts must not import the package it is part of",
    ],
  ]);
});

Deno.test("imports within a folder and outside of the package are left alone", () => {
  accepts([
    [
      "src/http/request.ts",
      `import { read } from "./body.ts"; import "./deep/er.ts";`,
    ],
    ["src/http/deep/er.ts", `import "../request.ts";`],
    ["src/cli/version.ts", `import config from "../../deno.json";`],
    ["tests/app_test.ts", `import { App } from "../src/app/app.ts";`],
    ["dev/tools/x.ts", `await import(name); import "../../src/app/app.ts";`],
    ["examples/bookshop/main.ts", `import { App } from "@webfw/core";`],
    ["packages/cli/main.ts", `import { main } from "@webfw/core/cli";`],
  ]);
});

Deno.test("a package is imported only where it has its place", () => {
  reports("package-place", [
    [
      "src/app/app.ts",
      `import * as v from "valibot";`,
      "src/app/app.ts must not import the package valibot",
    ],
    [
      "src/app/app.ts",
      `import type { GenericSchema } from "valibot";`,
      "src/app/app.ts must not import the package valibot",
    ],
    [
      "src/app/app.ts",
      `export { object } from "npm:valibot@^1.5.0";`,
      "src/app/app.ts must not import the package valibot",
    ],
    [
      "src/http/request.ts",
      `import { parseArgs } from "@std/cli/parse-args";`,
      "src/http/request.ts must not import the package @std/cli",
    ],
    [
      "src/app/router.ts",
      `import { STATUS_TEXT } from "@std/http/status";`,
      "src/app/router.ts must not import the package @std/http",
    ],
    [
      "cli.ts",
      `import { getCookies } from "jsr:@std/http@^1.1.1/cookie";`,
      "cli.ts must not import the package @std/http",
    ],
    [
      "src/http/request.ts",
      `import { assert } from "@std/assert";`,
      "src/http/request.ts must not import the package @std/assert",
    ],
    [
      "src/base/errors.ts",
      `import "toString";`,
      "src/base/errors.ts must not import the package toString",
    ],
  ]);
  accepts([
    ["src/schema/text.ts", `import * as v from "valibot";`],
    ["src/binding/binder.ts", `import * as v from "valibot";`],
    ["src/http/cookies.ts", `import { getCookies } from "@std/http/cookie";`],
    ["src/base/errors.ts", `import { STATUS_TEXT } from "@std/http/status";`],
    ["src/cli/arguments.ts", `import { parseArgs } from "@std/cli";`],
    [
      "src/log/log.ts",
      `import { AsyncLocalStorage } from "node:async_hooks";`,
    ],
    ["tests/x_test.ts", `import * as v from "valibot";`],
  ]);
});

Deno.test("an error message begins with a capital letter, ends without a period and has no contractions", () => {
  const file = "src/base/errors.ts";
  const capital = "An error message begins with a capital letter";
  const period = "An error message does not end with a period";
  const contraction = (text: string) => `An error message has no contractions: "${text}"`;
  reports("error-message", [
    [file, `throw new TypeError("cannot add it");`, capital],
    [file, `throw new TypeError(\`cannot add \${it} twice\`);`, capital],
    [file, `throw new TypeError("cannot add " + it);`, capital],
    [file, `new HTTPError(404, "no such book");`, capital],
    [file, `new RouteError("conflict", "route is taken");`, capital],
    [file, `new errors.RouteError("the route is taken");`, capital],
    [file, `throw new TypeError("Cannot add it.");`, period],
    [file, `throw new TypeError(\`Cannot add \${it}.\`);`, period],
    [file, `throw new TypeError("Cannot add " + it + " twice.");`, period],
    [file, `throw new RangeError("It can't be");`, contraction("can't")],
    [file, `throw new RangeError(\`\${x} isn't one\`);`, contraction("isn't")],
    [file, `throw new Error("It's taken by it");`, contraction("It's")],
    ["dev/tools/x.ts", `throw new Error("cannot list");`, capital],
  ]);
});

Deno.test("codes, computed texts, possessives and other classes are no error messages", () => {
  accepts([
    [
      "src/base/errors.ts",
      `throw new RouteError("conflict", "Cannot add GET /a: it is taken");`,
    ],
    ["src/base/errors.ts", `throw new TypeError(\`\${name} is not a schema\`);`],
    ["src/base/errors.ts", `throw new TypeError(name + " is not a schema");`],
    ["src/base/errors.ts", `throw new TypeError(message);`],
    ["src/base/errors.ts", `throw new TypeError();`],
    [
      "src/base/errors.ts",
      `throw new Error("Cannot read the client's body: 1.5 MiB");`,
    ],
    ["src/base/errors.ts", `new Response("not found.");`],
    ["tests/x_test.ts", `throw new Error("this can't be.");`],
  ]);
});

Deno.test("only the log and the command line write to the console", () => {
  reports("no-console", [
    [
      "src/app/app.ts",
      `console.log("hello");`,
      "src/app/app.ts must not write to the console",
    ],
    [
      "src/app/app.ts",
      `const write = console.error;`,
      "src/app/app.ts must not write to the console",
    ],
  ]);
  accepts([
    ["src/log/log.ts", `console.error("hello");`],
    ["src/cli/run.ts", `console.log("hello");`],
    ["cli.ts", `console.log("hello");`],
    ["examples/bookshop/main.ts", `console.log("hello");`],
  ]);
});

Deno.test("an import() outside of load() is reported, except in the command line and in tests", () => {
  const message = "Deno keeps the async context of an import(), and later requests would see it";
  reports("late-import", [
    ["src/http/reply.ts", `await import("./json.ts");`, message],
    ["src/http/reply.ts", `load(async () => await import("./json.ts"));`, message],
    ["src/http/reply.ts", `late(() => import("./json.ts"));`, message],
  ]);
  accepts([
    ["src/http/reply.ts", `await load(() => import("./json.ts"));`],
    ["src/http/reply.ts", `type Json = typeof import("./json.ts");`],
    ["src/cli/main.ts", `await import("./run.ts");`],
    ["tests/spec/04_results_test.ts", `await import("./json.ts");`],
  ]);
});

Deno.test("CONTRIBUTING.md prints the list of folders", async () => {
  const text = await Deno.readTextFile(join(ROOT, "CONTRIBUTING.md"));
  assertStringIncludes(text, `\`\`\`\n${listOfFloors()}\`\`\`\n`);
});
