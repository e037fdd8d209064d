import { assertEquals, assertThrows } from "@std/assert";
import { fromRight } from "../../../src/http/forwarded.ts";
import { readAddress } from "../../../src/http/host.ts";
import { ProxyTrust, type TrustProxy } from "../../../src/http/proxy.ts";

/** What trusted proxies say; the peer is 10.0.0.1 unless given. */
async function said(trust: TrustProxy, headers: Record<string, string>, peer: string | null = "10.0.0.1") {
  const proxies = new ProxyTrust(trust, true);
  await proxies.open();
  const forwarded = proxies.forwarded(new Headers(headers), peer);
  return forwarded && [forwarded.address, forwarded.scheme, forwarded.host];
}

const address = async (trust: TrustProxy, list: string, peer?: string | null) =>
  (await said(trust, { "x-forwarded-for": list }, peer))?.[0];

Deno.test("Addresses are counted from the right, past the trusted ones", async () => {
  assertEquals(await address(1, "1.1.1.1, 2.2.2.2"), "2.2.2.2");
  assertEquals(await address(2, "1.1.1.1, 2.2.2.2"), "1.1.1.1");
  assertEquals(await address(3, "1.1.1.1, 2.2.2.2"), "1.1.1.1");
  assertEquals(await address(1, "2.2.2.2", null), "2.2.2.2");
  const from = ["10.0.0.0/8", "fd00::/8"];
  assertEquals(await address(from, "1.1.1.1, 2.2.2.2"), "2.2.2.2");
  assertEquals(await address(from, "1.1.1.1, 2.2.2.2, 10.9.9.9, fd00::1"), "2.2.2.2");
  assertEquals(await address(from, "10.2.2.2, 10.3.3.3"), "10.2.2.2");
  assertEquals(await address(from, "1.1.1.1", "11.0.0.1"), undefined);
  assertEquals(await address(from, "1.1.1.1", null), undefined);
  assertEquals(await address(from, "1.1.1.1", "fd00::7"), "1.1.1.1");
});

Deno.test("IPv4-mapped IPv6 is IPv4, in lists and in headers", async () => {
  assertEquals(await address(["10.0.0.0/8"], "1.1.1.1", "::ffff:10.0.0.1"), "1.1.1.1");
  assertEquals(await address(["::ffff:10.0.0.0/104"], "1.1.1.1", "10.0.0.1"), "1.1.1.1");
  assertEquals(await address(["10.0.0.1"], "::ffff:1.1.1.1, ::ffff:10.0.0.1"), "1.1.1.1");
  assertEquals(await address(["::1"], "1.1.1.1", "::1"), "1.1.1.1");
  assertEquals(await address(["::1"], "1.1.1.1", "::2"), undefined);
});

Deno.test("What cannot be read is ignored from there leftwards", async () => {
  for (const wrong of ["unknown", "_hidden", "", "1.1.1", "x", "1.1.1.1 2.2.2.2", "[1.1.1.1]", "a".repeat(1000)]) {
    assertEquals(await address(1, `1.1.1.1, ${wrong}`), "10.0.0.1", wrong);
    assertEquals(await address(2, `1.1.1.1, ${wrong}, 3.3.3.3`), "3.3.3.3", wrong);
  }
});

Deno.test("A long list costs no more than the trusted proxies", async () => {
  const list = Array.from({ length: 5000 }, (_, index) => `10.0.${index >> 8}.${index & 255}`).join(",");
  assertEquals(await address(["10.0.0.0/8"], list), "10.0.19.104");
});

Deno.test("Addresses have many forms", () => {
  for (
    const [text, read] of [
      ["192.0.2.1", "192.0.2.1"],
      ["192.0.2.1:8080", "192.0.2.1"],
      ["192.0.2.1:_port", "192.0.2.1"],
      ["[2001:DB8::1]:80", "2001:db8::1"],
      ["[2001:db8::1]", "2001:db8::1"],
      ["2001:db8:0:0::1", "2001:db8::1"],
      ["::ffff:192.0.2.1", "192.0.2.1"],
      ["[::ffff:c000:201]", "192.0.2.1"],
      ["fe80::1%eth0", undefined],
      ["0300.1.1.1", undefined],
      ["unknown", undefined],
      ["_x:1", undefined],
      ["", undefined],
    ] as const
  ) assertEquals(readAddress(text), read, text);
});

Deno.test("Forwarded: quoted texts, brackets, scheme and host", async () => {
  const header = "forwarded";
  const one = { hops: 1, header } as const;
  const two = { hops: 2, header } as const;
  const read = (trust: TrustProxy, forwarded: string) => said(trust, { forwarded });
  assertEquals(await read(one, 'For="[2001:db8:cafe::17]:4711"'), ["2001:db8:cafe::17", undefined, undefined]);
  assertEquals(await read(one, 'for=192.0.2.43, For="198.51.100.17:80";Proto=https;host="a.example:8443"'), [
    "198.51.100.17",
    "https",
    "a.example:8443",
  ]);
  assertEquals(await read(two, "for=1.1.1.1;proto=https;host=out.example, for=2.2.2.2;proto=http;host=in.example"), [
    "1.1.1.1",
    "https",
    "out.example",
  ]);
  assertEquals(await read(two, "for=1.1.1.1, for=2.2.2.2;proto=https"), ["1.1.1.1", "https", undefined]);
  assertEquals(await read(one, "for=unknown;proto=https"), ["10.0.0.1", "https", undefined]);
  assertEquals(await read(one, 'for="_gazonk"'), ["10.0.0.1", undefined, undefined]);
  assertEquals(await read(one, 'by=3.3.3.3; for = "1\\.1.1.1" '), ["10.0.0.1", undefined, undefined]);
  assertEquals(await read(one, 'by=3.3.3.3;for="1\\.1.1.1"'), ["1.1.1.1", undefined, undefined]);
});

Deno.test("A client cannot hide what a proxy appends to Forwarded", async () => {
  const trust = { hops: 1, header: "forwarded" } as const;
  for (const open of ['for="', 'for="\\', "x\\", '"', 'a="b"c', ";;", ",", 'for=1.1.1.1;secret="', "\\\\\\"]) {
    const forwarded = `${open}, for=203.0.113.7;proto=https`;
    assertEquals(await said(trust, { forwarded }), ["203.0.113.7", "https", undefined], open);
    const quoted = `${open}, for="[2001:db8::1]:80"`;
    assertEquals(await said(trust, { forwarded: quoted }), ["2001:db8::1", undefined, undefined], open);
  }
});

Deno.test("A malformed element says nothing", async () => {
  const trust = { hops: 2, header: "forwarded" } as const;
  for (const wrong of ["for", "for=1.1.1.1;for=2.2.2.2", "for=1.1.1.1;x=a b", "=1", 'for="1.1.1.1', "for=1.1.1.1;"]) {
    assertEquals(await said(trust, { forwarded: `for=1.1.1.1, ${wrong}` }), ["10.0.0.1", undefined, undefined], wrong);
  }
});

Deno.test("Scheme and host are the last of their headers, where they can be read", async () => {
  const read = async (proto: string, host: string) =>
    (await said(1, { "x-forwarded-for": "1.1.1.1", "x-forwarded-proto": proto, "x-forwarded-host": host }))?.slice(1);
  assertEquals(await read("http, https", "a.example, b.example:80"), ["https", "b.example:80"]);
  assertEquals(await read("WSS", "a.example"), ["https", "a.example"]);
  assertEquals(await read("ws", "a/b"), ["http", undefined]);
  assertEquals(await read("gopher", "u@a.example"), [undefined, undefined]);
  assertEquals(await said(1, { "x-forwarded-proto": "https" }), ["10.0.0.1", "https", undefined]);
});

Deno.test("One family of headers is read, the other is ignored", async () => {
  const headers = { "x-forwarded-for": "1.1.1.1", "forwarded": "for=2.2.2.2;proto=https" };
  assertEquals(await said(1, headers), ["1.1.1.1", undefined, undefined]);
  assertEquals(await said({ hops: 1, header: "forwarded" }, headers), ["2.2.2.2", "https", undefined]);
  assertEquals(await said({ from: ["10.0.0.1"] }, headers), ["1.1.1.1", undefined, undefined]);
});

Deno.test("No proxies, `0` or `false`, are as without the option", async () => {
  for (const trust of [0, false, { hops: 0 }, undefined] as const) {
    assertEquals(
      await said(trust as TrustProxy, { "x-forwarded-for": "1.1.1.1", "x-forwarded-proto": "https" }),
      undefined,
    );
    assertEquals(new ProxyTrust(trust, true).isSet, false);
  }
});

Deno.test("A mistake in the option is refused", () => {
  for (
    const [trust, message] of [
      [-1, "Cannot set trustProxy: the number of proxies must be from 0 to 32, got -1"],
      [1.5, "the number of proxies must be from 0 to 32, got 1.5"],
      [33, "the number of proxies must be from 0 to 32, got 33"],
      [["10.0.0.0/33"], 'Cannot set trustProxy: "10.0.0.0/33" is neither an address nor a network'],
      [["10.0.0"], '"10.0.0" is neither an address'],
      [["proxy.example"], '"proxy.example" is neither an address'],
      [["fd00::/129"], '"fd00::/129" is neither an address'],
      [{ from: "10.0.0.1" }, '"from" must be an array such as'],
      [{}, 'give either "hops", the number of proxies, or "from", their addresses'],
      [{ hops: 1, from: [] }, 'give either "hops"'],
      [{ hops: 1, header: "x-real-ip" }, 'the header must be "x-forwarded" or "forwarded", got "x-real-ip"'],
      [{ hop: 1 }, 'Cannot set trustProxy: the option "hop" is unknown, the nearest is "hops"'],
      [true, 'Cannot set trustProxy: it must be the number of proxies, or an array such as ["10.0.0.0/8"], got true'],
      [
        "10.0.0.0/8",
        'Cannot set trustProxy: it must be the number of proxies, or an array such as ["10.0.0.0/8"], got "10.0.0.0/8"',
      ],
    ] as const
  ) {
    assertThrows(() => new ProxyTrust(trust as unknown as TrustProxy, true), Error, message);
  }
});

Deno.test("A list is split from the right, outside of quotes", () => {
  assertEquals([...fromRight('a, b="c, d" , "e\\",f"', ",")], ['"e\\",f"', 'b="c, d"', "a"]);
  assertEquals([...fromRight("", ",")], [""]);
  assertEquals([...fromRight('x", y', ",")], ["y", ""]);
});
