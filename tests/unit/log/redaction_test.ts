import { assertEquals } from "@std/assert";
import { hideInQuery, hideQueryOf, redactQuery, redactText, redactUrl } from "../../../src/log/redaction.ts";

Deno.test("The value of a secret query parameter is REDACTED, however its name is written", () => {
  hideInQuery("Access Token");
  const secret = [
    "/a?Access%20Token=s3",
    "/a?x=1&Access+Token=s3&y=2",
    "/a?access%20token=s3",
    "/a?%41ccess+Token=s3&Access+Token=s3",
    "http://localhost?Access+Token=a=s3",
  ];
  for (const url of secret) assertEquals([url, redactUrl(url).includes("s3")], [url, false]);
  assertEquals(redactUrl("/a?x=1&Access+Token=s3&y=2"), "/a?x=1&Access+Token=REDACTED&y=2");
  assertEquals(redactQuery("Access+Token=s3"), "Access+Token=REDACTED");
  for (const url of ["/a", "/a?", "/a?x=1&&y", "/a?%zz=1", "/Access+Token=s3"]) assertEquals(redactUrl(url), url);
});

Deno.test("In any text, the values in URLs are REDACTED", () => {
  hideInQuery("key[a]");
  const text = "GET \"http://localhost/?key[a]=s3\" and '/a?x=1&KEY%5Ba%5D=s3&y=2', key[a]=kept ?key=kept";
  const redacted =
    "GET \"http://localhost/?key[a]=REDACTED\" and '/a?x=1&KEY%5Ba%5D=REDACTED&y=2', key[a]=kept ?key=kept";
  assertEquals(redactText(text), redacted);
});

Deno.test("The query of a path that gets codes is REDACTED, also behind an origin and a prefix", () => {
  hideQueryOf("/dócs/redirect.html");
  const path = "/d%C3%B3cs/redirect.html";
  for (const before of ["", "/prefix", "https://books.example"]) {
    assertEquals(redactUrl(`${before}${path}?code=s3&state=1`), `${before}${path}?REDACTED`);
  }
  for (const url of [path, `${path}/more?code=1`, `/other?next=${path}`]) assertEquals(redactUrl(url), url);
});
