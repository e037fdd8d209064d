// The inputs of the workloads as valibot schemas, written for servers that hand over text values as
// they came.

import * as v from "valibot";
import { MAX_OFFSET, ORDER_BOUNDS, SEARCH_LIMIT, SORT_KEYS } from "../http/domain.ts";

const IntegerText = v.pipe(
  v.string(),
  v.transform(Number),
  v.number(),
  v.integer(),
);

/** The parameters of `GET /users/{id}`. */
export const UserPath = v.object({ id: v.pipe(IntegerText, v.minValue(1)) });

/** The query of `GET /search`: a key sent once arrives as a string, a repeated one as an array. */
export const Search = v.object({
  q: v.pipe(v.string(), v.minLength(1)),
  limit: v.pipe(
    IntegerText,
    v.minValue(SEARCH_LIMIT.min),
    v.maxValue(SEARCH_LIMIT.max),
  ),
  tags: v.union([
    v.array(v.string()),
    v.pipe(v.string(), v.transform((tag) => [tag])),
  ]),
});

/** The query of `GET /books`. */
export const Page = v.object({
  sort: v.picklist(SORT_KEYS),
  limit: v.pipe(IntegerText, v.minValue(SEARCH_LIMIT.min), v.maxValue(SEARCH_LIMIT.max)),
  offset: v.pipe(IntegerText, v.minValue(0), v.maxValue(MAX_OFFSET)),
});

const text = (maximum: number) => v.pipe(v.string(), v.minLength(1), v.maxLength(maximum));

/** The body of `POST /orders`. */
export const Order = v.object({
  customer: v.object({
    name: text(ORDER_BOUNDS.name),
    email: v.pipe(v.string(), v.regex(ORDER_BOUNDS.email)),
  }),
  address: v.object({
    street: text(ORDER_BOUNDS.street),
    city: text(ORDER_BOUNDS.city),
    postcode: text(ORDER_BOUNDS.postcode),
    country: v.pipe(v.string(), v.regex(ORDER_BOUNDS.country)),
  }),
  items: v.pipe(
    v.array(v.object({
      sku: v.pipe(v.string(), v.regex(ORDER_BOUNDS.sku)),
      quantity: v.pipe(
        v.number(),
        v.integer(),
        v.minValue(1),
        v.maxValue(ORDER_BOUNDS.quantity),
      ),
      price: v.pipe(
        v.number(),
        v.minValue(0),
        v.maxValue(ORDER_BOUNDS.price),
      ),
    })),
    v.minLength(1),
    v.maxLength(ORDER_BOUNDS.items),
  ),
});
