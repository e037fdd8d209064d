import { assert, assertEquals, assertThrows } from "@std/assert";
import { HostList, isLoopbackName, readAuthority } from "../../../src/http/host.ts";

Deno.test("host[:port] is brought into the form in which it can be compared", () => {
  for (
    const [text, name, port] of [
      ["Shop.Example:8000", "shop.example", "8000"],
      ["shop.example.", "shop.example", ""],
      ["shop.example:", "shop.example", ""],
      ["shop.example:00080", "shop.example", "80"],
      ["127.1", "127.0.0.1", ""],
      ["0x7f000001:1", "127.0.0.1", "1"],
      ["[0:0:0:0:0:0:0:1]:8000", "[::1]", "8000"],
      ["%61.example", "a.example", ""],
    ] as const
  ) assertEquals(readAuthority(text), { name, port }, text);
  for (const text of ["", ".", "u@x", "u:p@x", "a b", "x:1:2", "x:65536", "[::1", "::1", "x/y", "[x]", "999.1.1.1"]) {
    assertEquals(readAuthority(text), undefined, text);
  }
});

Deno.test("Names that always lead to the same machine", () => {
  for (const name of ["localhost", "a.b.localhost", "127.0.0.1", "127.1.2.3", "[::1]"]) assert(isLoopbackName(name));
  for (const name of ["localhost.example", "xlocalhost", "128.0.0.1", "127.0.0.1.example", "[::2]", ".localhost", ""]) {
    assert(!isLoopbackName(name), name);
  }
});

Deno.test("A list of hosts has names, and all names below one", () => {
  const hosts = new HostList(["Shop.example", "*.eu.example", "bücher.example", "10.0.0.7", "[::1]"], "hosts");
  for (
    const host of [
      "shop.example",
      "SHOP.example:443",
      "shop.example.",
      "a.eu.example",
      "a.b.eu.example:8000",
      "xn--bcher-kva.example",
      "10.0.0.7:8000",
      "[::1]:1",
    ]
  ) assert(hosts.hasAuthority(host), host);
  for (
    const host of [
      "eu.example",
      ".eu.example",
      "xeu.example",
      "a.shop.example",
      "shop.example.attacker.example",
      "shop.example@attacker.example",
      "10.0.0.8",
      "",
    ]
  ) assert(!hosts.hasAuthority(host), host);
});

Deno.test("An invalid host name is refused where it is declared", () => {
  for (
    const host of ["", "*", "*.", "a.*.example", "https://x", "x:80", "x/", "u@x", "a b", "x?", "x#", "::1", 7, "."]
  ) {
    assertThrows(() => new HostList([host as string], "hosts"), TypeError, "is not a host name");
  }
  for (const hosts of ["shop.example", {}] as unknown as string[][]) {
    assertThrows(() => new HostList(hosts, "hosts"), TypeError, "Cannot set hosts: it must be an array of names");
  }
  assertThrows(() => new HostList([], "hosts"), TypeError, "Cannot set hosts: an empty array refuses every request");
});
