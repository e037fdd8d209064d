// Test clients: replacements are typed by the dependency's value, messages and events by what a test says.

import { App, dependency, type HttpRequest } from "@webfw/core";
import { bearer, session } from "@webfw/core/auth";
import { TestClient, type TestEvent } from "@webfw/core/testing";
import { assertEquals } from "@std/assert";
import * as v from "valibot";
import { assertType, type IsExact } from "./assert_type.ts";

const count = async () => 12;
const user = bearer(async (token): Promise<{ name: string } | null> => token === "a" ? { name: "Ada" } : null);
const visit = session(v.object({ id: v.number() }), { secret: "0b72d3c1".repeat(4) });
const app = new App();
const getCount = app.get(
  "/",
  { deps: { count, user, visit }, response: v.number() },
  async (_request, { count }) => count,
);
const api = { getCount };

Deno.test("A replacement gets the request, and gives what the dependency gives", () => {
  new TestClient(app, {
    override: [
      [count, async (request) => {
        assertType<IsExact<typeof request, HttpRequest>>(true);
        return request.path.length;
      }],
      [user, dependency({ deps: { user } }, async (_request, { user }) => ({ name: `${user.name}!`, age: 7 }))],
      [visit, async () => ({ data: null, set: async () => {}, clear: async () => {} })],
    ],
  });
});

Deno.test("A client with replacements is one like any other, also with typed routes", () => {
  const replaced = new TestClient(app, { override: [[count, async () => 13]] });
  const plain: TestClient = replaced;
  const typed: TestClient<typeof api> = new TestClient(app, { override: [[count, async () => 13]] });
  const untyped: Pick<TestClient, "get" | "post"> = typed;
  assertType<IsExact<TestClient["api"], unknown>>(true);
  const call = () => typed.api.get("/");
  assertType<IsExact<Awaited<ReturnType<typeof call>>, number>>(true);
  // @ts-expect-error the replacement gives another value
  const mistaken: TestClient<typeof api> = new TestClient(app, { override: [[count, async () => "13"]] });
  assertEquals([plain, untyped, mistaken].every((client) => client instanceof TestClient), true);
});

Deno.test("Schemas give the types of messages, and a type argument that of events", async () => {
  await using client = new TestClient(app);
  const open = () =>
    client.websocket("/", { receive: v.object({ id: v.number() }), send: v.optional(v.string(), "a") });
  type Socket = Awaited<ReturnType<typeof open>>;
  assertType<IsExact<Awaited<ReturnType<Socket["receive"]>>, { id: number }>>(true);
  assertType<IsExact<Parameters<Socket["send"]>[0], string | undefined>>(true);
  const bare = () => client.websocket("/");
  type Bare = Awaited<ReturnType<typeof bare>>;
  assertType<IsExact<Awaited<ReturnType<Bare["receive"]>>, string | Uint8Array<ArrayBuffer>>>(true);
  const take = () => client.events<{ item: string }>("/").take(1);
  assertType<IsExact<Awaited<ReturnType<typeof take>>, TestEvent<{ item: string }>[]>>(true);
});
