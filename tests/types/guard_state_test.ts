import { App, stateType } from "@webfw/core";
import { apiKey, basic, bearer, signed } from "@webfw/core/auth";
import { assertEquals } from "@std/assert";
import { assertType, type IsExact } from "./assert_type.ts";

interface ShopState {
  readonly users: ReadonlyMap<string, { readonly name: string }>;
}

const state = stateType<ShopState>();

Deno.test("a guard takes the type of the state as a value, so that the type of its own value is inferred", async () => {
  const byToken = bearer(async (token, { state }) => state.users.get(token), { state });
  const byPassword = basic(async (name, _password, { state }) => state.users.get(name), { state });
  const byKey = apiKey(async (key, { state }) => state.users.get(key), { state, in: "header", name: "x-key" });
  const bySignature = signed({
    scheme: "github",
    state,
    deps: { byKey },
    secret: async ({ state }, { byKey }) => state.users.get(byKey.name)?.name,
  });
  const app = new App({ state });
  app.lifespan(async function* () {
    yield { users: new Map([["ada", { name: "Ada" }]]) };
  });
  app.get("/", { deps: { byToken } }, async (_request, { byToken }) => {
    assertType<IsExact<typeof byToken, { readonly name: string }>>(true);
    return byToken.name;
  });
  app.get("/password", { deps: { byPassword } }, async (_request, { byPassword }) => byPassword.name);
  app.get("/key", { deps: { byKey } }, async (_request, { byKey }) => byKey.name);
  app.post("/signed", { deps: { bySignature } }, async (_request, { bySignature }) => bySignature.id);
  const reply = await app.fetch(new Request("http://localhost/", { headers: { authorization: "Bearer ada" } }));
  assertEquals(await reply.json(), "Ada");

  const other = new App({ state: stateType<{ readonly prices: readonly number[] }>() });
  // @ts-expect-error The application has no users.
  other.get("/", { deps: { byToken } }, async () => {});
  // @ts-expect-error The application has no users, which a dependency of the guard needs.
  other.post("/signed", { deps: { bySignature } }, async () => {});
  // @ts-expect-error The state has no prices.
  bearer(async (token, { state }) => state.prices.get(token), { state });
  await app.stop();
});
