import { assert, assertEquals, assertThrows } from "@std/assert";
import { isSameHost, OriginList, type Origins, readOrigin } from "../../../src/http/origin.ts";

const list = (...origins: string[]) => OriginList.read(origins, "set the origins of the App");

Deno.test("An entry is brought into the form that browsers send", () => {
  for (
    const [entry, origin] of [
      ["https://shop.example", "https://shop.example"],
      ["HTTPS://Shop.Example", "https://shop.example"],
      ["https://shop.example:443", "https://shop.example"],
      ["http://shop.example:80", "http://shop.example"],
      ["http://shop.example:443", "http://shop.example:443"],
      ["https://bücher.example", "https://xn--bcher-kva.example"],
      ["http://127.0.0.1:8000", "http://127.0.0.1:8000"],
      ["http://[0:0::1]:8000", "http://[::1]:8000"],
      ["capacitor://localhost", "capacitor://localhost"],
      ["chrome-extension://abcdefgh", "chrome-extension://abcdefgh"],
      ["moz-extension://0b0a-11", "moz-extension://0b0a-11"],
    ] as const
  ) {
    assert(list(entry).names(origin), entry);
    assert(!list(entry).names(`${origin}.attacker.example`), entry);
    assert(!list(entry).names(`${origin}:1`), entry);
  }
});

Deno.test("A star stands for one label or several, of the same scheme and port", () => {
  const preview = list("https://*.preview.example", "http://*.localhost:5173");
  for (
    const origin of [
      "https://a.preview.example",
      "https://a-1.b_2.preview.example",
      "http://x.localhost:5173",
    ]
  ) assert(preview.names(origin), origin);
  for (
    const origin of [
      "https://preview.example",
      "https://.preview.example",
      "https://a..preview.example",
      "https://apreview.example",
      "http://a.preview.example",
      "https://a.preview.example:8443",
      "https://a.preview.example.attacker.example",
      "https://attacker.example/.preview.example",
      "https://attacker.example#.preview.example",
      "https://u@a.preview.example",
      "https://a.preview.example, https://b.preview.example",
      `https://${"a.".repeat(200)}preview.example`,
      "http://x.localhost",
      "null",
      "",
    ]
  ) assert(!preview.names(origin), origin);
});

Deno.test("What no page can send is refused where it is declared", () => {
  const wrong = [
    "null",
    "",
    "shop.example",
    "https://",
    "https://shop.example/",
    "https://shop.example/path",
    "https://shop.example?x",
    "https://shop.example#x",
    "https://u@shop.example",
    "https://u:p@shop.example",
    "https://shop.example:99999",
    "https://*",
    "https://a.*.example",
    "https://*.*.example",
    "https://*a.example",
    "*://shop.example",
    "https://shop .example",
    "file://",
    7,
  ];
  for (const entry of wrong) {
    const error = assertThrows(() => list(entry as string), TypeError);
    const shown = typeof entry === "string" ? JSON.stringify(entry) : entry;
    assertEquals(
      error.message,
      `Cannot set the origins of the App: ${shown} is not an origin, write it like "https://books.example"`,
    );
  }
  for (const origins of ["https://shop.example", {}, 1] as unknown as Origins[]) {
    assertThrows(
      () => OriginList.read(origins, "set the origins of the App"),
      TypeError,
      "it must be an array such as",
    );
  }
});

Deno.test('"*" allows all origins, and names none', () => {
  for (const open of [OriginList.read("*", "x"), list("*")]) {
    assert(open.isOpen && !open.isEmpty);
    assert(open.allows("https://shop.example") && open.allows("null"));
    assert(!open.names("https://shop.example"));
    assert(open.named.isEmpty);
  }
  const both = list("*", "https://shop.example");
  assert(both.named.names("https://shop.example") && !both.named.allows("https://other.example"));
});

Deno.test("Two lists are one", () => {
  const both = list("https://a.example").with(list("https://*.b.example"));
  assert(both.names("https://a.example") && both.names("https://x.b.example") && !both.isOpen);
  assert(both.with(list("*")).isOpen);
  assert(list().isEmpty && !both.isEmpty);
});

Deno.test("The host and port of a page are compared, default ports left out or not", () => {
  for (
    const [origin, host] of [
      ["https://shop.example", "shop.example"],
      ["http://shop.example", "shop.example"],
      ["https://shop.example", "shop.example:443"],
      ["http://shop.example", "shop.example:80"],
      ["http://shop.example", "shop.example:080"],
      ["https://shop.example:8443", "shop.example:8443"],
      ["https://shop.example", "SHOP.example"],
      ["https://shop.example", "shop.example."],
      ["https://xn--bcher-kva.example", "xn--bcher-kva.example"],
      ["http://[::1]:8000", "[0:0:0::1]:8000"],
      ["capacitor://localhost", "localhost"],
    ] as const
  ) assert(isSameHost(origin, host), `${origin} ${host}`);
  for (
    const [origin, host] of [
      ["https://shop.example", "shop.example:80"],
      ["http://shop.example", "shop.example:443"],
      ["https://shop.example", "shop.example:8443"],
      ["https://shop.example:8443", "shop.example"],
      ["https://shop.example.attacker.example", "shop.example"],
      ["https://eu.shop.example", "shop.example"],
      ["https://shop.example@attacker.example", "shop.example"],
      ["https://attacker.example/shop.example", "shop.example"],
      ["null", "null"],
      ["shop.example", "shop.example"],
      ["", ""],
      ["http://[::1]:8000", "[::2]:8000"],
    ] as const
  ) assert(!isSameHost(origin, host), `${origin} ${host}`);
});

Deno.test("An origin is read with its parts", () => {
  assertEquals(readOrigin("https://Shop.example:8443"), { scheme: "https", name: "shop.example", port: "8443" });
  for (const text of ["null", "https://", "https://a b", "//x", `https://${"a".repeat(400)}`]) {
    assertEquals(readOrigin(text), undefined, text);
  }
});
