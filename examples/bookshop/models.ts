/** The models of requests and replies. */
import * as v from "valibot";

const Text = v.pipe(v.string(), v.trim(), v.nonEmpty(), v.maxLength(200));
const Count = v.pipe(v.number(), v.integer(), v.minValue(0), v.maxValue(100_000));
/** Money in cents, which are never rounded. */
const Cents = Count;

export const Id = v.pipe(v.number(), v.safeInteger(), v.minValue(1));
export const Slug = v.pipe(v.string(), v.slug(), v.maxLength(40));
export const Isbn = v.pipe(v.string(), v.digits(), v.length(13), v.isbn());

export const Shop = v.pipe(v.object({ slug: Slug, name: Text, city: Text }), v.title("Shop"));
export type Shop = v.InferOutput<typeof Shop>;

export const Book = v.pipe(
  v.object({ isbn: Isbn, title: Text, author: Text, price: Cents, stock: Count }),
  v.title("Book"),
);
export type Book = v.InferOutput<typeof Book>;

/** A book with the fields that only clerks may see. */
export const StockedBook = v.pipe(v.object({ ...Book.entries, cost: Cents }), v.title("StockedBook"));
export type StockedBook = v.InferOutput<typeof StockedBook>;

export const BookChanges = v.pipe(v.partial(v.object({ price: Cents, stock: Count })), v.title("BookChanges"));

const Address = v.pipe(v.object({ street: Text, postcode: Text, city: Text }), v.title("Address"));

export const OrderDraft = v.pipe(
  v.object({
    lines: v.pipe(
      v.array(v.object({ isbn: Isbn, quantity: v.pipe(Count, v.minValue(1)) })),
      v.minLength(1),
      v.maxLength(50),
      v.check((lines) => new Set(lines.map(({ isbn }) => isbn)).size === lines.length, "A book stands in it twice"),
    ),
    address: Address,
  }),
  v.title("OrderDraft"),
);
export type OrderDraft = v.InferOutput<typeof OrderDraft>;

export const Order = v.pipe(
  v.object({
    id: Id,
    placedAt: v.pipe(v.string(), v.isoTimestamp()),
    lines: v.array(v.object({ isbn: Isbn, title: Text, price: Cents, quantity: Count })),
    total: v.pipe(v.number(), v.integer()),
    address: Address,
  }),
  v.title("Order"),
);
export type Order = v.InferOutput<typeof Order>;
