import { assert, assertEquals, assertStrictEquals, assertThrows } from "@std/assert";
import { HTTPError } from "../../../src/base/errors.ts";
import { problemReply, redirect, toHTTPError } from "../../../src/http/reply.ts";

Deno.test("A problem reply has the error's status and headers, also several cookies", async () => {
  const headers: [string, string][] = [["retry-after", "5"], ["set-cookie", "a=1"], ["set-cookie", "b=2"]];
  const response = problemReply(new HTTPError(503, "Busy", { headers }));
  assertEquals([response.status, response.headers.get("retry-after")], [503, "5"]);
  assertEquals(response.headers.getSetCookie(), ["a=1", "b=2"]);
  assertEquals((await response.json()).detail, "Busy");
});

Deno.test("Headers can be an object, a list or Headers", () => {
  const given: HeadersInit[] = [{ "X-A": "1" }, [["x-a", "1"]], new Headers({ "x-a": "1" })];
  for (const headers of given) {
    assertEquals(problemReply(new HTTPError(400, "x", { headers })).headers.get("x-a"), "1");
  }
});

Deno.test("Another error becomes a 500 with the error as its cause", () => {
  const own = new HTTPError(404);
  assertStrictEquals(toHTTPError(own), own);
  for (const thrown of [new Error("x"), "x", undefined, null]) {
    const error = toHTTPError(thrown);
    assertEquals([error.status, error.detail, error.cause], [500, "Internal Server Error", thrown]);
  }
});

Deno.test("A location is written in ASCII, keeps its escapes, and cannot contain a line break", () => {
  const table: [location: string, header: string][] = [
    ["/a?b=c#d", "/a?b=c#d"],
    ["/%41%2f", "/%41%2f"],
    ["/é", "/%C3%A9"],
    ["/😀", "/%F0%9F%98%80"],
    ["/a b", "/a%20b"],
    ["/a\r\nx: y", "/a%0D%0Ax:%20y"],
    ["/\0", "/%00"],
    ["https://x.example/", "https://x.example/"],
    ["/\ud800", "/%EF%BF%BD"],
    ["", ""],
  ];
  for (const [location, header] of table) {
    assertEquals(redirect(location).headers.get("location"), header, JSON.stringify(location));
  }
  assertThrows(() => redirect("/", 200), RangeError);
  assert(redirect("/", 308).status === 308);
});
