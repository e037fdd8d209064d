import { assert, assertEquals } from "@std/assert";
import * as v from "valibot";
import { App } from "@webfw/core";
import { TextFields } from "../../../src/binding/text_fields.ts";
import type { Issue } from "../../../src/base/errors.ts";
import { RequestContext } from "../../../src/http/context.ts";
import { HttpRequest } from "../../../src/http/request.ts";
import { DEFAULT_LIMITS } from "../../../src/http/limits.ts";
import { ProxyTrust } from "../../../src/http/proxy.ts";
import { pathEnd, pathStart } from "../../../src/http/query.ts";
import { Random } from "../support/random.ts";

const integer = v.pipe(v.number(), v.integer());
const FIELDS = new TextFields([
  {
    isHandler: true,
    name: "the handler",
    options: {
      params: { id: integer },
      query: {
        q: v.optional(v.string(), "all"),
        limit: v.optional(v.pipe(integer, v.minValue(1))),
        tags: v.optional(v.array(v.string()), []),
        "odd name\n\"'`": v.optional(v.boolean()),
      },
      headers: { "X-Token": v.optional(v.nullable(v.picklist(["a", "b"]))), "x-list": v.optional(v.array(v.number())) },
      cookies: { sid: v.optional(v.bigint()) },
    },
    reserved: new Map(),
  },
  {
    isHandler: false,
    name: "a dependency",
    options: { query: { limit: v.optional(v.string()) }, headers: {} },
    reserved: new Map(),
  },
], { all: ["shop", "id"], own: new Set(["shop", "id"]) });

const TEXTS = [
  "",
  "1",
  "-0",
  "1e3",
  "007",
  "true",
  "null",
  "a",
  "b",
  "a,b",
  "1, 2",
  "x y",
  "__proto__",
  "99999999999999999999",
];

const app = new App();

function requestOf(random: Random): HttpRequest {
  const query = new URLSearchParams();
  for (let left = random.below(5); left > 0; left--) {
    query.append(random.pick(["q", "limit", "tags", "odd name\n\"'`", "other"]), random.pick(TEXTS));
  }
  const headers = new Headers();
  if (random.below(2) === 1) headers.set("x-token", random.pick(TEXTS));
  if (random.below(2) === 1) headers.set("x-list", random.pick(TEXTS));
  if (random.below(2) === 1) headers.set("cookie", `sid=${random.pick(TEXTS)}`);
  const raw = new Request(`http://localhost/s?${query}`, { headers });
  const matched = { info: null, names: ["shop", "id"], limits: DEFAULT_LIMITS, isGuarded: false };
  const end = pathEnd(raw.url, pathStart(raw.url));
  return new HttpRequest(
    new RequestContext(raw, app, matched, ["s", random.pick(TEXTS)], end, undefined, new ProxyTrust(undefined, false)),
    {},
  );
}

Deno.test("Binding at once and binding with promises give the same arguments and issues", async () => {
  const random = new Random(20261121);
  let valid = 0;
  for (let round = 0; round < 3000; round++) {
    const request = requestOf(random);
    const [sync, async]: [Issue[], Issue[]] = [[], []];
    const args = FIELDS.bind(request, sync);
    const expected = await FIELDS.bindAsync(request, async);
    assertEquals(args, expected);
    assertEquals(sync.toSorted(byText), async.toSorted(byText));
    if (sync.length === 0) valid++;
  }
  assert(valid > 50, `Only ${valid} of 3000 are valid`);
});

function byText(a: Issue, b: Issue): number {
  return JSON.stringify(a) < JSON.stringify(b) ? -1 : 1;
}
