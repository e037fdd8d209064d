import { assert, assertEquals, assertFalse, assertMatch, assertStringIncludes } from "@std/assert";
import { describeError, log, muteNextWarning } from "../../../src/log/log.ts";
import { ChildProgram } from "../../spec/support/child_program.ts";
import { CapturedLog } from "../../spec/support/captured_log.ts";

Deno.test("An entry is one readable line with its time, level, message and fields", () => {
  using captured = new CapturedLog();
  log("warn", "Something happened", { path: "/a/b", status: 500, ok: true, text: "two words", none: undefined });
  assertEquals(captured.lines.length, 1);
  assertMatch(
    captured.lines[0]!,
    /^\d{4}-\d\d-\d\dT[\d:.]+Z WARN Something happened path=\/a\/b status=500 ok=true text="two words"$/,
  );
});

Deno.test("A field cannot pass for another one, nor a message for another entry", () => {
  using captured = new CapturedLog();
  log("info", "x\n2026-01-01T00:00:00.000Z ERROR forged", { path: 'a" level=error b="', empty: "" });
  assertEquals(captured.lines.length, 1);
  assertStringIncludes(captured.text, String.raw`path="a\" level=error b=\""`);
  assertStringIncludes(captured.text, 'empty=""');
});

Deno.test("Control characters and line separators are escaped", () => {
  using captured = new CapturedLog();
  const codes = [...Array(32).keys(), ...Array.from({ length: 33 }, (_, index) => 127 + index), 0x2028, 0x2029];
  for (const code of codes) {
    const char = String.fromCharCode(code);
    log("info", `a${char}b`, { field: `c${char}d` });
  }
  assertEquals(captured.lines.length, codes.length);
  for (const line of captured.lines) {
    // deno-lint-ignore no-control-regex
    assertFalse(/[\x00-\x1f\x7f-\x9f\u2028\u2029]/.test(line), JSON.stringify(line));
  }
});

Deno.test("An error is described with its message, stack and causes", () => {
  const text = describeError(new TypeError("outer", { cause: new RangeError("inner") }));
  for (const part of ["TypeError: outer", "RangeError: inner", "log_test.ts"]) assertStringIncludes(text, part);
});

Deno.test("A long description keeps its beginning and its end, the stack", () => {
  const text = describeError(new Error("x".repeat(1_000_000)));
  assert(text.length < 16_100, `${text.length}`);
  assert(text.startsWith("Error: xxx"));
  assertMatch(text, / … .*log_test\.ts/s);
  assert(describeError("y".repeat(1_000_000)).length < 16_100);
});

Deno.test("Whatever is thrown is described, without throwing itself", () => {
  const hostile = [
    undefined,
    null,
    Symbol("x"),
    Object.create(null),
    {
      [Symbol.for("Deno.customInspect")]() {
        throw new Error("inspect");
      },
    },
    new Proxy({}, {
      get() {
        throw new Error("trap");
      },
      getPrototypeOf() {
        throw new Error("trap");
      },
    }),
    new class extends Error {
      override get message(): string {
        throw new Error("message");
      }
    }(),
  ];
  for (const thrown of hostile) assert(describeError(thrown).length > 0);
});

/** The log of an error on a terminal, without the time. */
function onTerminal(error: unknown): string[] {
  using captured = new CapturedLog(true);
  log("error", "A request failed", { path: "/a", error: describeError(error) });
  return captured.lines.map((line, index) => index === 0 ? line.slice(line.indexOf(" ") + 1) : line);
}

/** An error with a stack of frames. */
function errorWith(message: string, frames: readonly string[], cause?: unknown): Error {
  const error = new Error(message, cause === undefined ? {} : { cause });
  error.stack = [`Error: ${message}`, ...frames.map((frame) => `    at ${frame}`)].join("\n");
  return error;
}

const FRAMEWORK = new URL("../../../src/routing/dispatch.ts:200:30", import.meta.url).href;
const INTERNAL = [
  "ext:core/01_core.js:1:1",
  "eventLoopTick (ext:core/01_core.js:190:21)",
  "node:fs:1:1",
  "native",
  "Array.map (<anonymous>)",
];
const PACKAGE = [
  "parse (file:///app/node_modules/.deno/zod@4/index.js:1:2)",
  "https://jsr.io/@std/csv/1.0.0/mod.ts:5:6",
];

Deno.test("On a terminal, an error is below its line: the message, and the calls in the application's files", () => {
  const error = errorWith("broken", [
    ...PACKAGE,
    "getBook (file:///app/main.ts:1:2)",
    ...INTERNAL,
    FRAMEWORK,
    "file:///app/main.ts:9:9",
  ]);
  assertEquals(onTerminal(error), [
    "ERROR A request failed path=/a",
    "  Error: broken",
    "      at getBook (file:///app/main.ts:1:2)",
    "      at file:///app/main.ts:9:9",
  ]);
});

Deno.test("Causes are logged in the same way, to the last one", () => {
  const root = errorWith("root", ["open (file:///app/db.ts:1:1)", ...INTERNAL]);
  const middle = errorWith("middle", [FRAMEWORK, ...INTERNAL], root);
  assertEquals(onTerminal(errorWith("outer", ["get (file:///app/main.ts:1:2)", FRAMEWORK], middle)), [
    "ERROR A request failed path=/a",
    "  Error: outer",
    "      at get (file:///app/main.ts:1:2) {",
    "    [cause]: Error: middle {",
    "      [cause]: Error: root",
    "          at open (file:///app/db.ts:1:1)",
    "    }",
    "  }",
  ]);
});

Deno.test("Where no file of the application is in the stack, those of packages are shown, and never the framework", () => {
  const below = (frames: readonly string[]) => onTerminal(errorWith("x", frames)).slice(2).map((line) => line.slice(9));
  assertEquals(below([...INTERNAL, ...PACKAGE, FRAMEWORK]), PACKAGE);
  assertEquals(below([...INTERNAL, FRAMEWORK]), []);
});

Deno.test("On a terminal, no text of an error looks like another entry, and control characters are escaped", () => {
  const lines = onTerminal(new Error("a\n2026-01-01T00:00:00.000Z ERROR forged\u001b[31m\r"));
  for (const line of lines.slice(1)) assert(line.startsWith("  "), line);
  assertStringIncludes(lines.join("\n"), "\n  2026-01-01T00:00:00.000Z ERROR forged\\u001b[31m\\u000d");
  assertEquals(onTerminal("text").slice(1), ['  Thrown: "text"']);
});

Deno.test("Where stderr is no terminal, an error is a part of the one line", () => {
  using captured = new CapturedLog();
  log("error", "A request failed", { error: describeError(new Error("a\nb", { cause: new Error("c") })) });
  assertEquals(captured.lines.length, 1);
});

Deno.test("As JSON an entry is one object, on a terminal, too", async () => {
  const source = `
    import { log } from "${new URL("../../../src/log/log.ts", import.meta.url)}";
    Deno.stderr.isTerminal = () => true;
    log("error", "A request failed", { error: "Error: a\\n    at b" });
  `;
  await using child = await ChildProgram.start(source, { env: { WEBFW_LOG: "json" } });
  const { stderr } = await child.end();
  const { time: _time, ...entry } = JSON.parse(stderr);
  assertEquals(entry, { level: "error", message: "A request failed", error: "Error: a\n    at b" });
});

Deno.test("WEBFW_LOG=full shows all frames of an error on a terminal", async () => {
  const source = `
    import { log } from "${new URL("../../../src/log/log.ts", import.meta.url)}";
    Deno.stderr.isTerminal = () => true;
    log("error", "A request failed", { error: "Error: a\\n    at file:///app/main.ts:1:1\\n    at ext:core/01.js:1:1" });
  `;
  await using child = await ChildProgram.start(source, { env: { WEBFW_LOG: "full" } });
  const { stderr } = await child.end();
  assertEquals(stderr.split("\n").slice(1), [
    "  Error: a",
    "      at file:///app/main.ts:1:1",
    "      at ext:core/01.js:1:1",
    "",
  ]);
});

Deno.test("Only the one warning is suppressed, whatever other warnings a program prints", () => {
  const { warn } = console;
  const told: unknown[] = [];
  console.warn = (first) => told.push(first);
  try {
    muteNextWarning("Deno.serve: ");
    const warnings = [Object.create(null), Symbol("a"), undefined, "Deno.serve: once", "Deno.serve: twice"];
    for (const warning of warnings) console.warn(warning);
    assertEquals(told, warnings.toSpliced(3, 1));
  } finally {
    console.warn = warn;
  }
});
