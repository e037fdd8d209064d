import { assertEquals, assertThrows } from "@std/assert";
import { type Duration, toMilliseconds } from "../../../src/base/options.ts";

Deno.test("A time is whole milliseconds as a number, or a number with its unit", () => {
  const table: [duration: Duration, ms: number][] = [
    [1, 1],
    [0.4, 1],
    [1.5, 2],
    [Infinity, Infinity],
    [30_000, 30_000],
    ["15s", 15_000],
    ["1.5s", 1_500],
    ["2m", 120_000],
    ["4.1m", 246_000],
    ["1.1h", 3_960_000],
    ["24h", 86_400_000],
    ["7d", 604_800_000],
    ["250ms", 250],
  ];
  for (const [duration, ms] of table) assertEquals(toMilliseconds(duration, "it"), ms, String(duration));
});

Deno.test("Anything else is a RangeError that names the option", () => {
  const wrong = [0, -1, NaN, -Infinity, "", "15", "s", "1 s", "-1s", "+1s", "1S", "1w", "1s ", "0s", "1e3s", "1h30m"];
  for (const duration of [...wrong, null, undefined, {}, [], true]) {
    assertThrows(() => toMilliseconds(duration as Duration, "the delay"), RangeError, "the delay", String(duration));
  }
  const message = 'Cannot set the delay: it must be milliseconds or a string such as "15s", above 0, got ';
  assertThrows(() => toMilliseconds(0, "the delay"), RangeError, `${message}0`);
  assertThrows(() => toMilliseconds("0" as Duration, "the delay"), RangeError, `${message}"0"`);
});
