// Rules for strings, arrays, other names, deprecated and hidden parameters, own checks.
import { App, hidden } from "@webfw/core";
import { TestClient } from "@webfw/core/testing";
import { assert, assertEquals } from "@std/assert";
import * as v from "valibot";

const Id = v.pipe(v.string(), v.check((id) => /^b-\d+$/.test(id), "Write an id such as b-7"));
const Q = v.pipe(
  v.string(),
  v.minLength(3),
  v.maxLength(50),
  v.regex(/^[a-z]+$/),
  v.title("Words"),
  v.description("Words of the title"),
  v.metadata({ deprecated: true }),
);

const app = new App();
app.get("/books", {
  query: {
    "book-query": v.optional(Q),
    tag: v.optional(v.array(v.string()), ["new", "used"]),
    id: v.optional(Id),
    trace: hidden(v.optional(v.string())),
  },
}, async (_request, { "book-query": q, tag, id, trace }) => ({ q, tag, id, trace }));

Deno.test("query params and string validations: rules, arrays, other names, hidden parameters, checks", async () => {
  await using client = new TestClient(app);
  assertEquals(await client.get("/books?book-query=emma&trace=t").json(), {
    q: "emma",
    tag: ["new", "used"],
    trace: "t",
  });
  assertEquals(await client.get("/books?tag=rare&tag=old&id=b-7").json(), { tag: ["rare", "old"], id: "b-7" });
  const { errors } = await client.get("/books?book-query=E&id=7").problem(422);
  assertEquals(errors.at(-1)?.message, "Write an id such as b-7");
  assertEquals(new Set(errors.map(({ path }) => path[0])), new Set(["book-query", "id"]));
  const parameters = app.openapi().paths["/books"]!.get!.parameters!;
  const [q] = parameters;
  assertEquals(parameters.length, 3);
  assert(q && "schema" in q);
  const { minLength, maxLength, pattern, title } = q.schema!;
  assertEquals([minLength, maxLength, pattern, title, q.deprecated], [3, 50, "^[a-z]+$", "Words", true]);
});
