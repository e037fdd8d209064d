/** The shops. */
import { dependency, HTTPError, Router } from "@webfw/core";
import * as v from "valibot";
import { connection, state } from "./database.ts";
import { Shop, Slug } from "./models.ts";
import { NoSuchShop } from "./problems.ts";

/** The shop that the path names, or a reply 404. */
export const currentShop = dependency(
  { state, params: { slug: Slug }, deps: { db: connection } },
  async (_request, { slug, db }) => {
    const shop = db.first<ShopRow>`SELECT * FROM shops WHERE slug = ${slug}`;
    if (shop) return shop;
    throw new HTTPError(404, "No such shop");
  },
);

/** A shop with the key that other tables have of it. */
export interface ShopRow extends Shop {
  readonly id: number;
}

/** All shops, and each by its name in the path. */
export const shops = new Router({ prefix: "/shops", state, tags: ["shops"] });

shops.get(
  "",
  { deps: { db: connection }, response: v.array(Shop), tool: true },
  async function listShops(_request, { db }) {
    "List all shops, by name.";
    return db.all<Shop>`SELECT * FROM shops ORDER BY name`;
  },
);

// The row has its key, too. The annotation says that this is meant, and the response model leaves
// the key out.
shops.get("/{slug}", {
  deps: { shop: currentShop },
  response: Shop,
  responses: { 404: NoSuchShop },
}, async function getShop(_request, { shop }): Promise<Shop> {
  "Get a shop.";
  return shop;
});
