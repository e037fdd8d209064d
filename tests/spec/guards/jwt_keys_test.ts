// Keys of an address: "fetched once per 10 min with a 5 s limit, one fetch for all who wait; an
// unknown `kid` fetches again at most every 30 s", "keys that cannot be fetched are 503 with
// `Retry-After`, logged, never 401; keys that are there stay good for a day while their address does
// not answer".

import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import type { App } from "@webfw/core";
import { jwt } from "@webfw/core/auth";
import { exportJWK, type JWK } from "jose";
import { CapturedLog } from "../support/captured_log.ts";
import { answering, ask, AUDIENCE, refusal, Signer } from "./support/tokens.ts";

type Answer = (request: Request) => Response | Promise<Response>;

/** An issuer on a free port, which publishes keys. What it answers can be replaced. */
class Issuer implements AsyncDisposable {
  readonly requests: string[] = [];
  readonly #server: Deno.HttpServer<Deno.NetAddr>;
  answer: Answer;

  constructor(keys: readonly JWK[] = []) {
    this.answer = () => Response.json({ keys });
    this.#server = Deno.serve({ port: 0, hostname: "127.0.0.1", onListen() {} }, (request) => {
      this.requests.push(new URL(request.url).pathname);
      return this.answer(request);
    });
  }

  get url(): string {
    return `http://127.0.0.1:${this.#server.addr.port}`;
  }

  get jwks(): string {
    return `${this.url}/jwks`;
  }

  publish(...keys: readonly unknown[]): void {
    this.answer = () => Response.json({ keys });
  }

  /** An application that takes tokens of this issuer. */
  app(keys: string | URL | undefined = this.jwks): App {
    return answering(jwt({ issuer: this.url, audience: AUDIENCE, ...(keys !== undefined && { keys }) }));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#server.shutdown();
  }
}

/** A clock that tests set forward. */
class Clock implements Disposable {
  readonly #original = Date.now;
  #ahead = 0;

  constructor() {
    Date.now = () => this.#original.call(Date) + this.#ahead;
  }

  forward(seconds: number): void {
    this.#ahead += seconds * 1000;
  }

  [Symbol.dispose](): void {
    Date.now = this.#original;
  }
}

const one = await Signer.make("ES256", "one");
const two = await Signer.make("RS256", "two");
const NOT_VALID: [number, string] = [401, "The token is not valid"];
const UNAVAILABLE: [number, string] = [503, "The keys that verify tokens cannot be fetched"];

/** A token for an issuer on this machine. */
const of = (signer: Signer, { url }: Issuer, header = {}) => signer.sign({ iss: url, exp: 9_999_999_999 }, header);

Deno.test("Keys are fetched on first use, and one fetch is for all who wait", async () => {
  await using issuer = new Issuer();
  const hold = Promise.withResolvers<void>();
  issuer.answer = async () => {
    await hold.promise;
    return Response.json({ keys: [await one.jwk(), await two.jwk()] });
  };
  const app = issuer.app();
  assertEquals(issuer.requests, []);
  const tokens = [await of(one, issuer), await of(two, issuer)];
  const pending = Array.from({ length: 20 }, (_, index) => ask(app, tokens[index % 2]!));
  hold.resolve();
  assertEquals((await Promise.all(pending)).map(({ status }) => status), Array(20).fill(200));
  assertEquals(issuer.requests, ["/jwks"]);
});

Deno.test("Keys are fetched once per 10 min", async () => {
  await using issuer = new Issuer([await one.jwk()]);
  using clock = new Clock();
  const app = issuer.app(new URL(issuer.jwks));
  const token = await of(one, issuer);
  for (const seconds of [0, 300, 299]) {
    clock.forward(seconds);
    assertEquals((await ask(app, token)).status, 200);
  }
  assertEquals(issuer.requests.length, 1);
  clock.forward(2);
  assertEquals((await ask(app, token)).status, 200);
  assertEquals(issuer.requests.length, 2);
});

Deno.test("A key that was withdrawn is refused after 10 min", async () => {
  await using issuer = new Issuer([await one.jwk()]);
  using clock = new Clock();
  const app = issuer.app();
  assertEquals((await ask(app, await of(one, issuer))).status, 200);
  issuer.publish(await two.jwk());
  clock.forward(601);
  assertEquals(await refusal(app, await of(one, issuer)), NOT_VALID);
});

Deno.test("An unknown kid fetches again at most every 30 s", async () => {
  await using issuer = new Issuer([await one.jwk()]);
  using clock = new Clock();
  const app = issuer.app();
  assertEquals((await ask(app, await of(one, issuer))).status, 200);
  // The issuer changes its key: the new one is known at once.
  issuer.publish(await one.jwk(), await two.jwk());
  assertEquals((await ask(app, await of(two, issuer))).status, 200);
  assertEquals(issuer.requests.length, 2);
  for (const kid of ["a", "b", "c"]) assertEquals(await refusal(app, await of(one, issuer, { kid })), NOT_VALID);
  assertEquals(issuer.requests.length, 2);
  clock.forward(31);
  const strangers = await Promise.all(["d", "e", "f"].map((kid) => of(one, issuer, { kid })));
  assertEquals(await Promise.all(strangers.map((token) => refusal(app, token))), [NOT_VALID, NOT_VALID, NOT_VALID]);
  assertEquals(issuer.requests.length, 3);
});

Deno.test("A token of another issuer fetches nothing", async () => {
  await using issuer = new Issuer([await one.jwk()]);
  const app = issuer.app();
  assertEquals(await refusal(app, await one.sign()), NOT_VALID);
  assertEquals(await refusal(app, "eyJhbGciOiJFUzI1NiJ9.e30.AAAA"), NOT_VALID);
  assertEquals(await refusal(app, "eyJhbGciOiJFUzI1NiJ9.%%.AAAA"), NOT_VALID);
  assertEquals(issuer.requests, []);
});

Deno.test("Keys that cannot be fetched are 503 with Retry-After, logged, never 401, until they can be", async () => {
  await using issuer = new Issuer();
  const good = [await one.jwk()];
  using clock = new Clock();
  const app = issuer.app();
  const token = await of(one, issuer);
  const answers: [answer: Answer, log: string][] = [
    [() => new Response("down", { status: 500 }), "answered with status 500"],
    [() => new Response("<html>"), "SyntaxError"],
    [() => Response.json({ keys: "none" }), "JSON Web Key Set malformed"],
    [() => Response.json(null), "JSON Web Key Set malformed"],
    [() => Response.redirect(`${issuer.url}/elsewhere`), "answered with status 302"],
    [() => new Response(new Uint8Array(1_048_577)), "sent more than 1048576 bytes"],
    [compressed, "sent more than 1048576 bytes"],
    [() => endless(), "sent more than 1048576 bytes"],
  ];
  for (const [answer, reason] of answers) {
    issuer.answer = answer;
    using log = new CapturedLog();
    const response = await ask(app, token);
    assertEquals([response.status, response.headers.get("retry-after")], [503, "1"]);
    await response.body?.cancel();
    assertEquals(log.lines.length, 1);
    assertStringIncludes(log.text, "The keys that verify tokens cannot be fetched");
    assertStringIncludes(log.text, reason);
    // Within the second, the issuer is not asked again.
    const { length } = issuer.requests;
    assertEquals(await refusal(app, token), UNAVAILABLE);
    assertEquals(issuer.requests.length, length);
    assertEquals(log.lines.length, 1);
    clock.forward(2);
  }
  assert(!issuer.requests.includes("/elsewhere"));
  issuer.answer = () => Response.json({ keys: good });
  assertEquals((await ask(app, token)).status, 200);
});

/** A reply without an end. */
function endless(): Response {
  const zeros = new Uint8Array(65_536);
  return new Response(new ReadableStream({ pull: (controller) => controller.enqueue(zeros) }));
}

/** A small reply that is large when it is decompressed. */
async function compressed(): Promise<Response> {
  const zip = new Blob([new Uint8Array(2_000_000)]).stream().pipeThrough(new CompressionStream("gzip"));
  return new Response(await new Response(zip).bytes(), { headers: { "content-encoding": "gzip" } });
}

Deno.test("Nobody listens: 503", async () => {
  const issuer = new Issuer();
  await issuer[Symbol.asyncDispose]();
  using log = new CapturedLog();
  assertEquals(await refusal(issuer.app(), await of(one, issuer)), UNAVAILABLE);
  assertEquals(log.lines.length, 1);
});

Deno.test("A fetch has a limit of 5 s, also where the body never ends", async () => {
  const { setTimeout } = globalThis;
  const limits: (() => void)[] = [];
  await using issuer = new Issuer();
  const reached = Promise.withResolvers<void>();
  issuer.answer = () => {
    const body = new ReadableStream({
      start(controller) {
        controller.enqueue(new TextEncoder().encode('{"keys":['));
        reached.resolve();
      },
    });
    return new Response(body);
  };
  const app = issuer.app();
  const token = await of(one, issuer);
  using _log = new CapturedLog();
  Object.assign(globalThis, {
    setTimeout: (run: () => void, ms: number) => {
      if (ms === 5000) limits.push(run);
      return setTimeout(run, ms);
    },
  });
  try {
    const pending = refusal(app, token);
    await reached.promise;
    assertEquals(limits.length, 1);
    limits[0]!();
    assertEquals(await pending, UNAVAILABLE);
  } finally {
    Object.assign(globalThis, { setTimeout });
  }
});

Deno.test("While known keys are fresh, an issuer that fails is no matter to their tokens", async () => {
  await using issuer = new Issuer([await one.jwk()]);
  using clock = new Clock();
  const app = issuer.app();
  const known = await of(one, issuer);
  assertEquals((await ask(app, known)).status, 200);
  issuer.answer = () => new Response(null, { status: 502 });
  using log = new CapturedLog();
  clock.forward(1);
  assertEquals(await refusal(app, await of(two, issuer)), UNAVAILABLE);
  const again = await ask(app, await of(two, issuer));
  assertEquals([again.status, Number(again.headers.get("retry-after")) > 20], [503, true]);
  await again.body?.cancel();
  assertEquals((await ask(app, known)).status, 200);
  assertEquals([issuer.requests.length, log.lines.length], [2, 1]);
});

Deno.test("Keys that are there stay good for a day while their address does not answer, and no request waits for it", async () => {
  await using issuer = new Issuer([await one.jwk()]);
  using clock = new Clock();
  using log = new CapturedLog();
  const app = issuer.app();
  const [known, unknown] = [await of(one, issuer), await of(two, issuer)];
  assertEquals((await ask(app, known)).status, 200);
  let asked = Promise.withResolvers<void>();
  issuer.answer = () => {
    asked.resolve();
    return new Response(null, { status: 502 });
  };
  // The first request after 10 minutes asks, since the key may have been withdrawn.
  clock.forward(601);
  assertEquals((await Promise.all([ask(app, known), ask(app, known)])).map(({ status }) => status), [200, 200]);
  assertEquals([issuer.requests.length, log.lines.length], [2, 1]);
  for (let round = 0; round < 5; round++) assertEquals((await ask(app, known)).status, 200);
  assertEquals(issuer.requests.length, 2);
  clock.forward(2);
  assertEquals(await refusal(app, unknown), UNAVAILABLE);
  // Every 30 s it is asked again, and the request goes on meanwhile.
  clock.forward(31);
  const { length } = issuer.requests;
  asked = Promise.withResolvers();
  const hold = Promise.withResolvers<void>();
  issuer.answer = async () => {
    asked.resolve();
    await hold.promise;
    return Response.json({ keys: [await two.jwk()] });
  };
  assertEquals((await ask(app, known)).status, 200);
  await asked.promise;
  assertEquals((await ask(app, known)).status, 200);
  assertEquals(issuer.requests.length, length + 1);
  hold.resolve();
  // An answer counts at once: the key of before was withdrawn.
  assertEquals((await ask(app, unknown)).status, 200);
  assertEquals(await refusal(app, known), NOT_VALID);
  assertEquals(issuer.requests.length, length + 2);
});

Deno.test("After a day without an answer, the keys are no longer good", async () => {
  await using issuer = new Issuer([await one.jwk()]);
  using clock = new Clock();
  using _log = new CapturedLog();
  const app = issuer.app();
  const known = await of(one, issuer);
  assertEquals((await ask(app, known)).status, 200);
  issuer.answer = () => new Response("<html>", { status: 200 });
  clock.forward(86_399);
  assertEquals((await ask(app, known)).status, 200);
  clock.forward(2);
  assertEquals(await refusal(app, known), UNAVAILABLE);
});

Deno.test("A configuration that does not answer is no matter to the keys that are there", async () => {
  await using issuer = new Issuer();
  const jwk = await one.jwk();
  issuer.answer = (request) =>
    Response.json(request.url.endsWith("/jwks") ? { keys: [jwk] } : { issuer: issuer.url, jwks_uri: issuer.jwks });
  using clock = new Clock();
  using _log = new CapturedLog();
  const app = answering(jwt({ issuer: issuer.url, audience: AUDIENCE }));
  const known = await of(one, issuer);
  assertEquals((await ask(app, known)).status, 200);
  issuer.answer = () => new Response(null, { status: 503 });
  clock.forward(3_600);
  assertEquals((await ask(app, known)).status, 200);
});

Deno.test("Keys of other kinds in the set are not used: secrets, for encryption, too small, private", async () => {
  const { publicKey } = await crypto.subtle.generateKey(
    { name: "RSASSA-PKCS1-v1_5", modulusLength: 1024, publicExponent: new Uint8Array([1, 0, 1]), hash: "SHA-256" },
    true,
    ["sign", "verify"],
  );
  const secret = { kty: "oct", k: "c2VjcmV0c2VjcmV0c2VjcmV0c2VjcmV0c2VjcmV0c2U", kid: "one" };
  const sets: unknown[][] = [
    [secret],
    [{ ...secret, alg: "ES256" }],
    [{ ...await one.jwk(), use: "enc" }],
    [{ ...await one.jwk(), key_ops: ["sign"] }],
    [{ ...await one.jwk(), alg: "ES384" }],
    [{ ...await exportJWK(publicKey), kid: "one" }],
    [{ ...await one.jwk(), x: "AAAA" }],
    [{ ...await exportJWK(one.privateKey), kid: "one" }],
    [{}, { kid: "one" }, { kty: 1, kid: "one" }],
    [await one.jwk(), await one.jwk()],
  ];
  for (const set of sets) {
    await using issuer = new Issuer();
    issuer.publish(...set);
    assertEquals(await refusal(issuer.app(), await of(one, issuer)), NOT_VALID);
  }
});

Deno.test("The issuer may be any text, also one that is not ASCII", async () => {
  await using issuer = new Issuer([await one.jwk()]);
  const iss = "Bücher 書店";
  const app = answering(jwt({ issuer: iss, audience: AUDIENCE, keys: issuer.jwks }));
  assertEquals((await ask(app, await one.sign({ iss }))).status, 200);
});

Deno.test("A token that names no key is verified by the only one that fits", async () => {
  await using issuer = new Issuer([await one.jwk(), await two.jwk()]);
  assertEquals((await ask(issuer.app(), await of(one, issuer, { kid: undefined }))).status, 200);
});

Deno.test("Without keys, jwks_uri of the issuer's configuration is used", async () => {
  for (const path of ["", "/tenant", "/tenant/"]) {
    await using issuer = new Issuer();
    using clock = new Clock();
    const name = issuer.url + path;
    const keys = [await one.jwk()];
    issuer.answer = ({ url }) =>
      Response.json(
        url.endsWith("/.well-known/openid-configuration") ? { issuer: name, jwks_uri: issuer.jwks } : { keys },
      );
    const app = answering(jwt({ issuer: name, audience: AUDIENCE }));
    const token = await one.sign({ iss: name, exp: 9_999_999_999 });
    assertEquals((await ask(app, token)).status, 200);
    assertEquals(issuer.requests, [`${path.replace(/\/$/, "")}/.well-known/openid-configuration`, "/jwks"]);
    clock.forward(601);
    assertEquals((await ask(app, token)).status, 200);
    assertEquals(issuer.requests.length, 4);
  }
});

Deno.test("A configuration of another issuer, or with an unsafe address, is 503", async () => {
  await using issuer = new Issuer();
  using clock = new Clock();
  const app = answering(jwt({ issuer: issuer.url, audience: AUDIENCE }));
  const configurations: [configuration: unknown, reason: string][] = [
    [{ issuer: `${issuer.url}/`, jwks_uri: issuer.jwks }, "is not that of"],
    [{ jwks_uri: issuer.jwks }, "is not that of"],
    [{ issuer: issuer.url }, "has no jwks_uri"],
    [{ issuer: issuer.url, jwks_uri: "http://id.example/jwks" }, "has no jwks_uri"],
    [{ issuer: issuer.url, jwks_uri: "file:///etc/passwd" }, "has no jwks_uri"],
    [{ issuer: issuer.url, jwks_uri: "http://127.0.0.1.id.example/" }, "has no jwks_uri"],
    [null, "is not that of"],
  ];
  for (const [configuration, reason] of configurations) {
    issuer.answer = () => Response.json(configuration);
    using log = new CapturedLog();
    assertEquals(await refusal(app, await of(one, issuer)), UNAVAILABLE);
    assertStringIncludes(log.text, reason);
    clock.forward(2);
  }
});

Deno.test("Nothing of a credential is logged: neither the password in the address of keys nor its query", async () => {
  const issuer = new Issuer();
  const address = `${issuer.jwks.replace("//", "//user:s3cret@")}?key=s3cret`;
  using log = new CapturedLog();
  for (const body of [null, new Uint8Array(1_048_577)]) {
    issuer.answer = () => new Response(body, { status: body === null ? 500 : 200 });
    assertEquals(await refusal(issuer.app(address), await of(one, issuer)), UNAVAILABLE);
    assertStringIncludes(log.lines.at(-1)!, `${issuer.jwks} `);
  }
  await issuer[Symbol.asyncDispose]();
  assertEquals(await refusal(issuer.app(address), await of(one, issuer)), UNAVAILABLE);
  assertStringIncludes(log.lines.at(-1)!, issuer.jwks);
  assertEquals([log.lines.length, log.text.includes("s3cret")], [3, false]);
});
