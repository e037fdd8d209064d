import { assert, assertEquals, assertFalse, assertMatch, assertStringIncludes } from "@std/assert";
import { describeError, log } from "../../src/log.ts";
import { CapturedLog } from "../spec/support/captured_log.ts";

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

Deno.test("No control character and no line separator is written as it is", () => {
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
