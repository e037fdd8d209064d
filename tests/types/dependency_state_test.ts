import { App, dependency, stateType } from "@webfw/core";
import { TestClient } from "@webfw/core/testing";
import { assertEquals } from "@std/assert";

interface ShopState {
  db: { n: number };
}

const state = stateType<ShopState>();
const connection = dependency({ state }, async (request) => request.state.db);
const plain = dependency(async () => 1);

Deno.test("a dependency needs the state that its own dependencies need, without naming it", async () => {
  const sum = dependency({ deps: { connection, plain } }, async (_request, { connection, plain }) => {
    return connection.n + plain;
  });
  const deeper = dependency({ deps: { sum } }, async (_request, { sum }) => ({ sum }));

  const app = new App({ state });
  app.lifespan(async function* () {
    yield { db: { n: 2 } };
  });
  app.get("/", { deps: { deeper } }, async (_request, { deeper }) => deeper.sum.toFixed());
  await using client = new TestClient(app);
  assertEquals(await client.get("/").json(), "3");

  const stateless = new App();
  // @ts-expect-error nothing promises that the state is there
  stateless.get("/", { deps: { deeper } }, async (_request, { deeper }) => deeper);
});

Deno.test("a function next to a dependency's own is typed in place", async () => {
  const length = dependency(
    { deps: { method: async (request) => request.method } },
    async (_request, { method }) => method.length,
  );
  const app = new App();
  app.get("/", { deps: { length } }, async (_request, { length }) => length);
  await using client = new TestClient(app);
  assertEquals(await client.get("/").json(), 3);
});
