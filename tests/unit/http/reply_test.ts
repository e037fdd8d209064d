import { assert, assertEquals, assertStrictEquals, assertThrows } from "@std/assert";
import { HTTPError } from "../../../src/errors.ts";
import { problemReply, redirect, toHTTPError, withHeaders, withMutableHeaders } from "../../../src/http/reply.ts";

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

Deno.test("A reply with mutable headers stays the same; another one is copied", async () => {
  const open = new Response("x", { headers: { "x-a": "1" } });
  assertStrictEquals(withMutableHeaders(open), open);
  assertEquals(open.headers.get("x-a"), "1");
  const closed = Response.redirect("http://localhost/x", 307);
  const opened = withMutableHeaders(closed);
  opened.headers.set("x-b", "2");
  assertEquals([opened.status, opened.headers.get("location")], [307, "http://localhost/x"]);
  const fetched = withMutableHeaders(await fetch("data:text/plain,body"));
  fetched.headers.set("x-b", "2");
  assertEquals(await fetched.text(), "body");
});

Deno.test("Further headers replace those of a reply, and cookies are added", () => {
  const response = new Response("x", { headers: [["x-a", "1"], ["set-cookie", "a=1"]] });
  const headers = new Headers([["x-a", "2"], ["x-b", "3"], ["set-cookie", "b=2"], ["set-cookie", "c=3"]]);
  const changed = withHeaders(response, headers);
  assertEquals([changed.headers.get("x-a"), changed.headers.get("x-b")], ["2", "3"]);
  assertEquals(changed.headers.getSetCookie(), ["a=1", "b=2", "c=3"]);
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
