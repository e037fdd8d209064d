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
 * @param request The request for this page. The next page has the same query, but for the offset.
 * @param rows The rows of the page, and one more if there is a next page.
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
    next: rows.length > limit ? `${request.basePath}${request.path}?${query}` : null,
  };
}
