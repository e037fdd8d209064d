// Types that the compiler checks, and which follow from schemas.
import { assertEquals } from "@std/assert";
import * as v from "valibot";

const Book = v.object({
  title: v.string(),
  pages: v.optional(v.number()),
  tags: v.array(v.string()),
  size: v.tuple([v.number(), v.number()]),
  prices: v.record(v.string(), v.number()),
  id: v.union([v.number(), v.string()]),
});
type Book = v.InferOutput<typeof Book>;

function nameOf({ title, pages }: Pick<Book, "title" | "pages">): string {
  return pages === undefined ? title : `${title}, ${pages} pages`;
}

Deno.test("types: of strings, optional values, arrays, tuples, objects and unions", () => {
  const book: Book = v.parse(Book, { title: "Emma", pages: 474, tags: [], size: [13, 20], prices: {}, id: "e-1" });
  assertEquals(nameOf(book), "Emma, 474 pages");
  book.id satisfies number | string;
  // @ts-expect-error: A number has no length.
  assertEquals(book.size[0].length, undefined);
});
