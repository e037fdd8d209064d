// Names of fields and files, as browsers, other clients and attackers write them.

import { assertEquals, assertThrows } from "@std/assert";
import { HTTPError } from "../../../src/errors.ts";
import { type PartHead, readPartHead } from "../../../src/http/forms/multipart.ts";
import { utf8 } from "./support/multipart_body.ts";

function headOf(disposition: string, type?: string): PartHead {
  return readPartHead({
    "content-disposition": [`form-data; ${disposition}`],
    ...(type === undefined ? {} : { "content-type": [type] }),
  });
}

Deno.test("The name of a field is as it was sent, in UTF-8", () => {
  const table: [sent: string, name: string][] = [
    ['name="a"', "a"],
    ["name=a", "a"],
    ['name=""', ""],
    ['NAME="a"', "a"],
    ['name="a b"', "a b"],
    ['name="a;b"', "a;b"],
    ["name = a", "a"],
    [`name="${utf8("é€😀")}"`, "é€😀"],
    ['name="\xe9"', "\ufffd"],
    ['name="a%22b%0D%0Ac%20"', 'a"b\r\nc%20'],
    ['name="a\\"b\\\\c\\d"', 'a"b\\c\\d'],
    ['name="__proto__"', "__proto__"],
    ['name="a[b][c]"', "a[b][c]"],
    ["name=a;", "a"],
  ];
  for (const [sent, name] of table) assertEquals(headOf(sent), { name, file: undefined }, sent);
});

Deno.test("The name of a file is without folders, control characters and what turns text around", () => {
  const table: [sent: string, name: string][] = [
    ["cat.png", "cat.png"],
    ["", ""],
    ["../../etc/passwd", "passwd"],
    ["/etc/passwd", "passwd"],
    ["C:\\Users\\me\\cat.png", "cat.png"],
    ["..\\..\\cat.png", "cat.png"],
    ["..", ""],
    [".", ""],
    ["../", ""],
    ["a/..", ""],
    ["...", "..."],
    [".htaccess", ".htaccess"],
    ["cat.png\0.exe", "cat.png.exe"],
    ["a%0D%0Ab", "ab"],
    ["\x01\x1b[31mred\x7f", "[31mred"],
    [utf8("\u202ecod.exe"), "cod.exe"],
    [utf8("\u0085x\u2066y"), "xy"],
    [utf8("Ünïcødé 😀.txt"), "Ünïcødé 😀.txt"],
    ["\xe9t\xe9.txt", "\ufffdt\ufffd.txt"],
    [" a .txt ", "a .txt"],
    ["a%2Fb", "a%2Fb"],
    ["a%22b", 'a"b'],
    ["CON", "CON"],
  ];
  for (const [sent, name] of table) {
    assertEquals(headOf(`name="f"; filename="${sent}"`).file?.name, name, JSON.stringify(sent));
  }
});

Deno.test("A part is a file where it has a file name, whatever its type", () => {
  assertEquals(headOf("name=a", "application/octet-stream").file, undefined);
  assertEquals(headOf('name=a; filename=""').file, { name: "", type: "application/octet-stream" });
  assertEquals(headOf("name=a; filename=b", "image/png").file, { name: "b", type: "image/png" });
});

Deno.test("The type of a file is its media type without parameters", () => {
  const table: [sent: string, type: string][] = [
    ["text/plain", "text/plain"],
    [" Text/HTML; charset=utf-8 ", "text/html"],
    ["image/svg+xml", "image/svg+xml"],
    ["", "application/octet-stream"],
    ["text", "application/octet-stream"],
    ["/", "application/octet-stream"],
    ["<script>/x", "application/octet-stream"],
  ];
  for (const [sent, type] of table) assertEquals(headOf("name=a; filename=b", sent).file?.type, type, sent);
});

Deno.test("A file name in the notation of RFC 8187 is read where there is no other", () => {
  assertEquals(headOf("name=a; filename*=utf-8''%e2%82%ac%20rates.txt").file?.name, "€ rates.txt");
  assertEquals(headOf("name=a; filename*=UTF-8'en'..%2F..%2Fetc%2Fpasswd").file?.name, "passwd");
  assertEquals(headOf("name=a; filename=plain; filename*=utf-8''other").file?.name, "plain");
  assertThrows(() => headOf("name=a; filename*=utf-8''%e2%82"), HTTPError);
});

Deno.test("A hostile header is refused, which a backtracking pattern would take days for", () => {
  const hostile = ['"', "\\", '\\"', "; ", ";a=", ';a="', " ", "\t", "=", "%22", "''"];
  for (const piece of hostile) {
    assertThrows(() => headOf(`name=a; filename="${piece.repeat(8_000 / piece.length)}`), HTTPError);
  }
});
