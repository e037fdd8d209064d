// The declarations that the mistakes of the tables use.

import { App, dependency, topic } from "@webfw/core";
import { jwt } from "@webfw/core/auth";
import type { Client } from "@webfw/core/client";
import { TestClient } from "@webfw/core/testing";
import * as v from "valibot";
import type * as api from "./api.ts";

/** The value of the application's lifespans. */
export interface State {
  store: { title(id: number): Promise<string> };
}

export const int = v.pipe(v.number(), v.integer());
export const Author = v.object({ name: v.string(), born: v.optional(int) });
export const Book = v.object({
  title: v.string(),
  genre: v.picklist(["novel", "poems"]),
  isbn: v.nullable(v.string()),
  author: Author,
});

export const Orders = topic("orders", { schema: v.object({ total: v.number() }) });

export const app = new App<State>();
export const client = new TestClient(app);
export declare const shop: Client<typeof api>;
export const countBooks = dependency(async () => 12);

export const issuer = { issuer: "https://id.example", audience: "books" };
export const member = jwt({ ...issuer, claims: v.object({ sub: v.string() }) });

/** A secret of sessions. */
export const secret = "0b72d3c1".repeat(4);

/** A schema of another library, as those that follow Standard Schema are. */
export const standard = {
  "~standard": { version: 1, vendor: "zod", validate: (value: unknown) => ({ value }) },
} as const;
