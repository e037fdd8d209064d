// Sessions: the schema gives the types of the data, for reading and for setting.

import { App, type Dependency } from "@webfw/core";
import {
  memorySessions,
  type RequiredSession,
  type Session,
  session,
  type SessionDependency,
  type SessionStore,
} from "@webfw/core/auth";
import { assertEquals } from "@std/assert";
import * as v from "valibot";
import { assertType, type IsExact } from "./assert_type.ts";

interface User {
  userId: number;
}

const secret = "0b72d3c1".repeat(4);
const visit = session(v.object({ userId: v.number() }), { secret });

Deno.test("session(schema, …) infers the data", () => {
  assertType<IsExact<typeof visit, SessionDependency<User, User>>>(true);
  const required = visit.required();
  assertType<IsExact<typeof required, Dependency<RequiredSession<User, User>>>>(true);
});

Deno.test("visit.data is the type or null, and that of required() is not null", () => {
  const app = new App();
  app.post(
    "/",
    { deps: { visit, user: visit.required({ redirect: "/login" }) } },
    async (_request, { visit, user }) => {
      assertType<IsExact<typeof visit, Session<User, User>>>(true);
      assertType<IsExact<typeof visit.data, User | null>>(true);
      assertType<IsExact<typeof user.data, User>>(true);
      assertType<IsExact<Parameters<typeof user.set>, [data: User]>>(true);
      return user.data.userId;
    },
  );
  assertEquals(app.routes.length, 1);
});

Deno.test("set takes the input of the schema, and data is its output", () => {
  const schema = v.object({
    since: v.pipe(v.string(), v.isoTimestamp(), v.toDate()),
    theme: v.optional(v.picklist(["dark", "light"]), "light"),
  });
  const visit = session(schema, { store: memorySessions() });
  type Value = typeof visit extends Dependency<infer Value> ? Value : never;
  assertType<IsExact<NonNullable<Value["data"]>, { since: Date; theme: "dark" | "light" }>>(true);
  assertType<IsExact<Parameters<Value["set"]>, [data: { since: string; theme?: "dark" | "light" | undefined }]>>(true);
});

Deno.test("a secret can be a list or a function, also one that may have none, or there is a store", () => {
  const store: SessionStore = memorySessions();
  const schema = v.string();
  const all = [
    session(schema, { secret: [secret, secret] }),
    session(schema, { secret: () => secret }),
    session(schema, { secret: () => Deno.env.get("SECRET") }),
    session(schema, { secret: async () => [secret] as const }),
    session(schema, { store }),
    session(schema, { store, secret, maxAge: "30d", renew: true, cookie: { sameSite: "strict" } }),
  ];
  for (const visit of all) assertType<IsExact<typeof visit, SessionDependency<string, string>>>(true);
});
