/** Pages of a list. */
import type { HttpRequest } from "@webfw/core";
import * as v from "valibot";

/** The query of a list: `query: { ...paging }`. */
export const paging = {
  limit: v.optional(v.pipe(v.number(), v.integer(), v.minValue(1), v.maxValue(100)), 20),
  offset: v.optional(v.pipe(v.number(), v.integer(), v.minValue(0), v.maxValue(1_000_000)), 0),
};

/** The model of a page; `next` is where the next one is. */
export function pageOf<const Item extends v.GenericSchema>(item: Item) {
  return v.object({ items: v.array(item), next: v.nullable(v.string()) });
}

/**
 * Makes a page.
 *
 * @param request Asked for it; everything else in its query stays the same on the next page.
 * @param rows Those of the page and one more, if there is one.
 */
export function toPage<Row>(
  request: HttpRequest,
  rows: readonly Row[],
  { limit, offset }: { readonly limit: number; readonly offset: number },
): { items: Row[]; next: string | null } {
  const query = new URLSearchParams(request.query);
  query.set("offset", String(offset + limit));
  return {
    items: rows.slice(0, limit),
    next: rows.length > limit ? `${request.path}?${query}` : null,
  };
}
