// "signed({ scheme, secret }): a guard for webhooks that come in: verifies the HMAC over the raw body (bounded), in
// constant time, refuses old timestamps; documented as an apiKey in a header. The body is read for it, and not twice."

import { assertEquals, assertStringIncludes, assertThrows } from "@std/assert";
import { anySecurity, App, Form, Router, Stream } from "@webfw/core";
import { apiKey, sign, signed, type SignedOptions, type SignOptions } from "@webfw/core/auth";
import type { OpenAPIParameter } from "@webfw/core/openapi";
import * as v from "valibot";
import { createHmac } from "node:crypto";
import { gzipSync } from "node:zlib";
import { Serving } from "../support/serving.ts";

const FOREVER = "36500d";

/** An application that answers with what the guard and the handler have read. */
function receiving(options: SignedOptions): App {
  const app = new App();
  app.post("/", { deps: { sender: signed(options) } }, async (request, { sender }) => ({
    ...sender,
    body: await request.text(),
  }));
  return app;
}

function post(body: BodyInit, headers: HeadersInit = {}, path = "/"): Request {
  return new Request(`http://localhost${path}`, { method: "POST", body, headers });
}

async function mac(secret: string, content: string, hash = "SHA-256"): Promise<Uint8Array<ArrayBuffer>> {
  const key = await crypto.subtle.importKey("raw", new TextEncoder().encode(secret), { name: "HMAC", hash }, false, [
    "sign",
  ]);
  return new Uint8Array(await crypto.subtle.sign("HMAC", key, new TextEncoder().encode(content)));
}

function seconds(offset = 0): string {
  return String(Math.floor(Date.now() / 1000) + offset);
}

Deno.test("GitHub: the example of its documentation is accepted, and any other signature is 401", async () => {
  const app = receiving({ scheme: "github", secret: "It's a Secret to Everybody" });
  const signature = "757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17";
  const response = await app.fetch(post("Hello, World!", { "x-hub-signature-256": `sha256=${signature}` }));
  assertEquals(await response.json(), { id: null, sentAt: null, body: "Hello, World!" });
  const wrong = [
    ["Hello, World?", `sha256=${signature}`],
    ["Hello, World!", signature],
    ["Hello, World!", `sha1=${signature}`],
    ["Hello, World!", "sha256="],
    ["Hello, World!", `sha256=${signature.slice(1)}`],
    ["Hello, World!", `sha256=${signature}${"0".repeat(20_000)}`],
  ] as const;
  for (const [body, header] of wrong) {
    const refused = await app.fetch(post(body, { "x-hub-signature-256": header }));
    assertEquals(refused.status, 401, header.slice(0, 100));
    assertEquals(
      refused.headers.get("www-authenticate"),
      'Signature realm="github", header="x-hub-signature-256"',
    );
    await refused.body?.cancel();
  }
  const missing = await app.fetch(post("Hello, World!"));
  assertEquals([missing.status, (await missing.json()).detail], [
    401,
    "Sign the request, and send the signature in the header x-hub-signature-256",
  ]);
});

Deno.test("Standard Webhooks: the example of its libraries is accepted, also among other signatures", async () => {
  const secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
  const headers = { "webhook-id": "msg_p5jXN8AQM9LWM0D4loKWxJek", "webhook-timestamp": "1614265330" };
  const body = '{"test": 2432232314}';
  const good = "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=";
  for (const signature of [good, `v1,AAAA v1a,xyz ${good}`]) {
    const app = receiving({ scheme: "standard", secret, tolerance: FOREVER });
    const response = await app.fetch(post(body, { ...headers, "webhook-signature": signature }));
    assertEquals(await response.json(), { id: headers["webhook-id"], sentAt: "2021-02-25T15:02:10.000Z", body });
  }
  const late = receiving({ scheme: "standard", secret });
  const response = await late.fetch(post(body, { ...headers, "webhook-signature": good }));
  assertEquals(response.status, 401);
  assertStringIncludes((await response.json()).detail, "signed too long ago");
  // Each signed part is covered.
  const app = receiving({ scheme: "standard", secret, tolerance: FOREVER });
  for (const changed of [{ "webhook-id": "msg_other" }, { "webhook-timestamp": "1614265331" }]) {
    const forged = await app.fetch(post(body, { ...headers, "webhook-signature": good, ...changed }));
    assertEquals((await forged.json()).detail, "The signature is not valid");
  }
});

Deno.test("Stripe: time and signatures are in one header, and clocks may differ by five minutes", async () => {
  const app = receiving({ scheme: "stripe", secret: ["whsec_old", "whsec_new"] });
  const body = '{"id":"evt_1"}';
  const sign = async (timestamp: string) =>
    `t=${timestamp},v0=00,v1=${"00".repeat(32)},v1=${(await mac("whsec_new", `${timestamp}.${body}`)).toHex()}`;
  for (const [offset, status] of [[0, 200], [-290, 200], [290, 200], [-310, 401], [310, 401]] as const) {
    const response = await app.fetch(post(body, { "stripe-signature": await sign(seconds(offset)) }));
    assertEquals(response.status, status, `${offset} s`);
    await response.body?.cancel();
  }
  for (const header of ["", "t=,v1=00", "v1=00", "t=1e9,v1=00", `t=-${seconds()},v1=00`, `t=${seconds()}`]) {
    assertEquals((await app.fetch(post(body, { "stripe-signature": header }))).status, 401, header);
  }
});

Deno.test("A scheme of one's own: header, prefix, encoding, algorithm, content, timestamp and id", async () => {
  const slack = receiving({
    scheme: {
      header: "X-Slack-Signature",
      prefix: "v0=",
      content: "v0:{timestamp}:{body}",
      timestamp: "x-slack-request-timestamp",
    },
    secret: "s",
  });
  const timestamp = seconds();
  const hex = (await mac("s", `v0:${timestamp}:token={body}`)).toHex();
  const headers = { "x-slack-request-timestamp": timestamp };
  for (const signature of [hex, hex.toUpperCase()]) {
    const response = await slack.fetch(post("token={body}", { ...headers, "x-slack-signature": `v0=${signature}` }));
    assertEquals((await response.json()).body, "token={body}");
  }
  const shop = receiving({
    scheme: { header: "x-hmac", encoding: "base64", algorithm: "SHA-512", content: "{id}{body}", id: "x-id" },
    secret: "s",
  });
  const base64 = (await mac("s", "7ö", "SHA-512")).toBase64();
  const response = await shop.fetch(post("ö", { "x-hmac": base64, "x-id": "7" }));
  assertEquals(await response.json(), { id: "7", sentAt: null, body: "ö" });
});

Deno.test("The secret can be that of a tenant in the path, and an unknown tenant is 401", async () => {
  const secrets = new Map([["ada", "a"], ["bob", "b"]]);
  const sender = signed({
    scheme: { header: "x-hmac" },
    secret: async (request) => secrets.get(request.params.tenant!),
  });
  const app = new App();
  app.post("/{tenant}", { deps: { sender } }, async (_request, { tenant }) => tenant);
  const headers = { "x-hmac": (await mac("a", "{}")).toHex() };
  assertEquals(await (await app.fetch(post("{}", headers, "/ada"))).json(), "ada");
  assertEquals((await app.fetch(post("{}", headers, "/bob"))).status, 401);
  assertEquals((await app.fetch(post("{}", headers, "/eve"))).status, 401);
});

Deno.test("`secret` gets the values of `deps`, which refuse first, and the document asks for all of it", async () => {
  const partners = new Map([["k-1", { secret: "s-1" }], ["k-2", { secret: "s-2" }]]);
  let lookups = 0;
  const partner = apiKey(async (key) => {
    lookups++;
    return partners.get(key);
  }, { in: "header", name: "x-api-key" });
  const sender = signed({
    scheme: { header: "x-hmac" },
    deps: { partner },
    secret: async (_request, { partner }) => partner.secret,
  });
  const plain = signed({ scheme: { header: "x-hmac" }, secret: "s-3" });
  const app = new App();
  const router = new Router({ prefix: "/router", deps: { partner } });
  router.post("", { deps: { sender } }, async (_request, { partner }) => partner.secret);
  app.include(router);
  app.post("/", { deps: { sender } }, async () => "signed");
  app.post("/any", { deps: { sender: anySecurity(sender, plain) } }, async () => "any");
  const ask = async (path: string, headers: Record<string, string>) => {
    const reply = await app.fetch(post("{}", headers, path));
    return [reply.status, reply.ok ? await reply.json() : (await reply.json()).detail];
  };
  const signature = (await mac("s-1", "{}")).toHex();
  for (const path of ["/router", "/", "/any"]) {
    lookups = 0;
    const { status } = await app.fetch(post("{}", { "x-api-key": "k-1", "x-hmac": signature }, path));
    assertEquals([status, lookups], [200, 1], path);
    assertEquals((await ask(path, { "x-api-key": "k-2", "x-hmac": signature }))[0], 401);
  }
  assertEquals(await ask("/", { "x-hmac": signature }), [401, "Send a key in the header x-api-key"]);
  assertEquals(await ask("/any", { "x-hmac": (await mac("s-3", "{}")).toHex() }), [200, "any"]);
  assertEquals(app.openapi().paths["/"]?.post?.security, [{ apiKey: [], "x-hmac": [] }]);
  const wrong = { scheme: "github", secret: "s", deps: [partner] } as unknown as SignedOptions;
  assertThrows(() => signed(wrong), TypeError, "give each one by the name of its argument");
});

Deno.test("The handler gets the body that was verified: JSON, a form with a file, a stream", async () => {
  const deps = { sender: signed({ scheme: { header: "x-hmac" }, secret: "s" }) };
  const app = new App();
  app.post("/json", { deps, body: v.object({ n: v.number() }) }, async (_request, { body }) => body.n);
  app.post("/form", { deps, form: Form(v.object({ note: v.string() })) }, async (_request, { form }) => form.note);
  app.post("/stream", { deps, body: Stream() }, async (_request, { body }) => await new Response(body).text());
  await using serving = await Serving.start(app);
  const boundary = "b0";
  const multipart = `--${boundary}\r\ncontent-disposition: form-data; name="note"\r\n\r\nhi\r\n--${boundary}--\r\n`;
  const cases = [
    ["/json", '{"n":7}', "application/json", 7],
    ["/form", "note=hi", "application/x-www-form-urlencoded", "hi"],
    ["/form", multipart, `multipart/form-data; boundary=${boundary}`, "hi"],
    ["/stream", "plain", "text/plain", "plain"],
  ] as const;
  for (const [path, body, type, expected] of cases) {
    const signature = (await mac("s", body)).toHex();
    const headers = { "content-type": type, "x-hmac": signature };
    const response = await fetch(`${serving.origin}${path}`, { method: "POST", body, headers });
    assertEquals([response.status, await response.json()], [200, expected], path);
  }
});

Deno.test("The body is bounded by the limit of the route, also a multipart one, and the guard comes before 422", async () => {
  const deps = { sender: signed({ scheme: { header: "x-hmac" }, secret: "s" }) };
  const app = new App({ limits: { body: 100 } });
  app.post("/", { deps, form: Form(v.object({ note: v.string() })) }, async () => null);
  app.post("/json", { deps, body: v.object({ n: v.number() }) }, async () => null);
  const headers = { "x-hmac": "00", "content-type": "multipart/form-data; boundary=b" };
  assertEquals((await app.fetch(post("x".repeat(101), headers))).status, 413);
  assertEquals((await app.fetch(post("{", { "x-hmac": "00" }, "/json"))).status, 401);
});

Deno.test("A compressed body is verified as it was sent, and handed on decompressed", async () => {
  const app = new App({ limits: { decompress: true } });
  const deps = { sender: signed({ scheme: { header: "x-hmac" }, secret: "s" }) };
  app.post("/", { deps, body: v.object({ n: v.number() }) }, async (_request, { body }) => body.n);
  const stream = new Response('{"n":7}').body!.pipeThrough(new CompressionStream("gzip"));
  const body = await new Response(stream).bytes();
  const key = await crypto.subtle.importKey(
    "raw",
    new TextEncoder().encode("s"),
    { name: "HMAC", hash: "SHA-256" },
    false,
    [
      "sign",
    ],
  );
  const signature = new Uint8Array(await crypto.subtle.sign("HMAC", key, body)).toHex();
  const headers = { "content-encoding": "gzip", "content-type": "application/json", "x-hmac": signature };
  await using serving = await Serving.start(app);
  const response = await fetch(serving.origin, { method: "POST", body, headers });
  assertEquals([response.status, await response.json()], [200, 7]);
});

Deno.test("A middleware can read a compressed body before it is verified", async () => {
  const app = new App({ limits: { decompress: true, body: 100 } });
  app.middleware(async (request, next) => {
    await (request.headers.has("x-peek") ? request.stream().getReader().read() : request.text());
    return await next(request);
  });
  const sender = signed({ scheme: "github", secret: "s" });
  app.post("/", { deps: { sender } }, async (request) => await request.text());
  await using serving = await Serving.start(app);
  const send = async (content: string, signedContent: Uint8Array<ArrayBuffer>, peek: HeadersInit = {}) => {
    const signature = createHmac("sha256", "s").update(signedContent).digest("hex");
    const headers = { "content-encoding": "gzip", "x-hub-signature-256": `sha256=${signature}`, ...peek };
    const body = new Uint8Array(gzipSync(content));
    const response = await fetch(serving.origin, { method: "POST", body, headers });
    return [response.status, await response.text()];
  };
  const body = new Uint8Array(gzipSync("content"));
  assertEquals(await send("content", body), [200, '"content"']);
  assertEquals(await send("content", body, { "x-peek": "1" }), [200, '"content"']);
  assertEquals((await send("content", new TextEncoder().encode("content")))[0], 401);
  assertEquals((await send("x".repeat(101), new Uint8Array(gzipSync("x".repeat(101)))))[0], 413);
});

Deno.test("The sender is the caller of idempotent routes, whatever it signs", async () => {
  let runs = 0;
  const app = new App();
  app.post("/", {
    deps: { sender: signed({ scheme: { header: "x-hmac" }, secret: "s" }) },
    idempotent: "1h",
  }, async () => ++runs);
  const headers = { "x-hmac": (await mac("s", "{}")).toHex(), "idempotency-key": "k-1" };
  assertEquals(await (await app.fetch(post("{}", headers))).json(), 1);
  assertEquals(await (await app.fetch(post("{}", headers))).json(), 1);
});

Deno.test("The document has a key in the header of the signature, and 401", () => {
  const app = receiving({ scheme: "stripe", secret: "s", description: "The signing secret of the endpoint" });
  const { components, paths } = app.openapi();
  assertEquals(components.securitySchemes, {
    stripe: {
      type: "apiKey",
      in: "header",
      name: "stripe-signature",
      description: "The signing secret of the endpoint",
    },
  });
  const operation = paths["/"]!.post!;
  assertEquals([operation.security, Object.keys(operation.responses).includes("401"), operation.parameters], [
    [{ stripe: [] }],
    true,
    undefined,
  ]);
});

Deno.test("The document has all headers that the sender must send, so that a request can be made from it", () => {
  const headersOf = (app: App) =>
    (app.openapi().paths["/"]!.post!.parameters ?? []).map((parameter) => {
      const { name, in: source, required } = parameter as OpenAPIParameter;
      return [source, name, required];
    });
  const secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
  const standard = signed({ scheme: "standard", secret });
  assertEquals(headersOf(receiving({ scheme: "standard", secret })), [
    ["header", "webhook-id", true],
    ["header", "webhook-timestamp", true],
  ]);
  assertEquals(headersOf(receiving({ scheme: "stripe", secret })), []);
  assertEquals(headersOf(receiving({ scheme: "github", secret })), []);
  // A client that signs in otherwise does not send them.
  const app = new App();
  const key = apiKey(async (key) => key === "k", { in: "header", name: "x-key" });
  app.post("/", { deps: { sender: anySecurity(standard, key) } }, async () => null);
  assertEquals(headersOf(app), [["header", "webhook-id", false], ["header", "webhook-timestamp", false]]);
  // What the program declares itself stays as it is.
  const declared = new App();
  const headers = { "Webhook-Id": v.pipe(v.string(), v.startsWith("msg_")) };
  declared.post("/", { deps: { sender: standard }, headers }, async () => null);
  assertEquals(headersOf(declared), [["header", "Webhook-Id", true], ["header", "webhook-timestamp", true]]);
});

Deno.test("sign() makes the headers that signed() verifies, in each scheme, by one or several secrets", async () => {
  const schemes: SignOptions["scheme"][] = ["standard", "github", "stripe", {
    header: "x-hmac",
    prefix: "v0=",
    content: "{id}:{timestamp}:{body}",
    timestamp: "x-time",
    id: "x-id",
    algorithm: "SHA-512",
  }];
  for (const scheme of schemes) {
    const app = receiving({ scheme, secret: "bmV3" });
    for (const body of ['{"n":"ö"}', new TextEncoder().encode("bytes"), ""]) {
      for (const secret of ["bmV3", ["b2xk", "bmV3"]]) {
        const response = await app.fetch(post(body as BodyInit, sign(body, { scheme, secret, id: "m-1" })));
        assertEquals(response.status, 200, JSON.stringify(scheme));
        assertEquals((await response.json()).id, scheme === "github" || scheme === "stripe" ? null : "m-1");
      }
      const forged = await app.fetch(post(body as BodyInit, sign(body, { scheme, secret: "b2xk" })));
      assertEquals(forged.status, 401);
    }
  }
  // The example of the libraries of Standard Webhooks.
  const secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
  const sentAt = new Date(1614265330_000);
  const id = "msg_p5jXN8AQM9LWM0D4loKWxJek";
  assertEquals(sign('{"test": 2432232314}', { scheme: "standard", secret, id, sentAt }), {
    "webhook-id": id,
    "webhook-timestamp": "1614265330",
    "webhook-signature": "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
  });
  assertEquals(new Set([1, 2].map(() => sign("", { scheme: "standard", secret })["webhook-id"])).size, 2);
});

Deno.test("A wrong option of sign() is an error, which does not print the secret", () => {
  const wrong: [unknown, string][] = [
    [{ secret: "SECRET" }, '"scheme" must be "standard", "github", "stripe" or an object'],
    [{ scheme: "standard", secret: "SECRET!" }, 'in base64, perhaps after "whsec_"'],
    [{ scheme: "github", secret: [] }, '"secret" must have at least one'],
    [
      { scheme: "github", secret: "SECRET", id: "a.b" },
      '"id" must be 1 to 256 visible characters of ASCII without a dot',
    ],
    [{ scheme: "github", secret: "SECRET", id: "a b" }, '"id" must be'],
    [{ scheme: "github", secret: "SECRET", sentAt: 1 }, '"sentAt" must be a valid Date, got 1'],
    [{ scheme: "github", secrets: "SECRET" }, 'the nearest is "secret"'],
  ];
  for (const [options, message] of wrong) {
    const error = assertThrows(() => sign("", options as SignOptions), TypeError);
    assertStringIncludes(error.message, message);
    assertEquals(error.message.includes("SECRET"), false);
  }
  const data = { n: 1 } as unknown as string;
  assertThrows(
    () => sign(data, { scheme: "github", secret: "s" }),
    TypeError,
    "write JSON.stringify(data), got object",
  );
});

Deno.test("A wrong option is an error where it is written, which does not print the secret", () => {
  const wrong: [unknown, string][] = [
    [{ scheme: "github" }, '"secret" must be a string that is not empty, or an array of such'],
    [{ scheme: "github", secret: "" }, '"secret" must be a string that is not empty'],
    [{ scheme: "github", secret: ["a", ""] }, '"secret" must be a string'],
    [{ scheme: "github", secret: [] }, '"secret" must have at least one, got an empty array'],
    [{ scheme: "standard", secret: "whsec_SECRET!" }, 'not empty in base64, perhaps after "whsec_"'],
    [{ scheme: "gitlab", secret: "s" }, '"scheme" must be "standard", "github", "stripe" or an object'],
    [{ scheme: { heder: "x" }, secret: "s" }, 'the option "scheme.heder" is unknown, the nearest is "scheme.header"'],
    [{ scheme: {}, secret: "s" }, '"scheme.header" is missing'],
    [{ scheme: { header: "a b" }, secret: "s" }, 'cannot be named "a b"'],
    [
      { scheme: { header: "x", encoding: "utf8" }, secret: "s" },
      '"scheme.encoding" must be "hex" or "base64", got "utf8"',
    ],
    [{ scheme: { header: "x", algorithm: "MD5" }, secret: "s" }, '"scheme.algorithm" must be one of'],
    [{ scheme: { header: "x", content: "{bdy}" }, secret: "s" }, '"scheme.content" must contain {body}'],
    [{ scheme: { header: "x", content: "{id}{body}" }, secret: "s" }, 'name its header by "scheme.id"'],
    [{ scheme: { header: "x", timestamp: "t" }, secret: "s" }, "what is not signed can be forged"],
    [{ scheme: "github", secret: "s", tolerance: "1m" }, '"tolerance" needs a timestamp, and github signs none'],
    [{ scheme: "stripe", secret: "s", tolerence: "1m" }, 'the nearest is "tolerance"'],
  ];
  for (const [options, message] of wrong) {
    const error = assertThrows(() => signed(options as SignedOptions), TypeError);
    assertStringIncludes(error.message, message);
    assertEquals(error.message.includes("SECRET"), false);
  }
  assertThrows(() => signed({ scheme: "stripe", secret: "s", tolerance: 0 }), RangeError);
});

Deno.test("After app.stop() no timer is left, whichever server reads the body", async () => {
  const app = receiving({ scheme: { header: "x-hmac" }, secret: "s" });
  const server = Deno.serve({ port: 0, onListen: () => {} }, app.fetch);
  const headers = { "x-hmac": (await mac("s", "{}")).toHex() };
  const response = await fetch(`http://127.0.0.1:${server.addr.port}/`, { method: "POST", body: "{}", headers });
  assertEquals((await response.json()).body, "{}");
  await server.shutdown();
  await app.stop();
});
