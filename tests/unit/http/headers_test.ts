import { assertEquals } from "@std/assert";
import { readHttpDate } from "../../../src/http/headers.ts";

const AT = Date.UTC(1994, 10, 6, 8, 49, 37);

Deno.test("A date has one of three forms, and is in UTC in all of them", () => {
  for (
    const text of [
      "Sun, 06 Nov 1994 08:49:37 GMT",
      "Sunday, 06-Nov-94 08:49:37 GMT",
      "Sun Nov  6 08:49:37 1994",
    ]
  ) assertEquals(readHttpDate(text), AT, text);
  assertEquals(readHttpDate("Fri Nov 16 08:49:37 2001"), Date.UTC(2001, 10, 16, 8, 49, 37));
  assertEquals(readHttpDate("Sat, 31 Dec 2016 23:59:60 GMT"), Date.UTC(2017, 0, 1));
});

Deno.test("Two digits of a year are at most 50 years ahead", () => {
  const now = Date.UTC(2026, 5);
  assertEquals(readHttpDate("Sunday, 06-Nov-76 08:49:37 GMT", now), Date.UTC(2076, 10, 6, 8, 49, 37));
  assertEquals(readHttpDate("Sunday, 06-Nov-77 08:49:37 GMT", now), Date.UTC(1977, 10, 6, 8, 49, 37));
});

Deno.test("Anything else is no date", () => {
  for (
    const text of [
      "",
      "garbage 2050",
      "2050",
      "2050-01-01",
      "2050-01-01T00:00:00Z",
      "Sun, 06 Nov 1994 08:49:37",
      "Sun, 06 Nov 1994 08:49:37 UTC",
      "Sun, 06 Nov 1994 08:49:37 +0100",
      "Sun, 6 Nov 1994 08:49:37 GMT",
      "Sun, 06 Nov 94 08:49:37 GMT",
      "Sun, 31 Feb 1994 08:49:37 GMT",
      "Sun, 06 Foo 1994 08:49:37 GMT",
      "Sun, 06 Nov 1994 24:00:00 GMT",
      "Sun, 06 Nov 1994 08:60:37 GMT",
      "Sun, 06 Nov 1994 08:49:61 GMT",
      " Sun, 06 Nov 1994 08:49:37 GMT",
      "Sun, 06 Nov 1994 08:49:37 GMT, x",
    ]
  ) assertEquals(readHttpDate(text), undefined, text);
});
