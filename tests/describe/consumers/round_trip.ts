// Calls the example and the hostile application by generated clients: `round_trip.ts <URL of the
// example> <URL of the other>`. It is copied into the folder of the generated types.

import createClient from "openapi-fetch";
import type { paths as Bookshop } from "./bookshop/openapi_typescript.ts";
import type { paths as Hostile } from "./hostile/openapi_typescript.ts";

const [bookshopUrl = "", hostileUrl = ""] = Deno.args;
const bookshop = createClient<Bookshop>({ baseUrl: bookshopUrl });
const hostile = createClient<Hostile>({ baseUrl: hostileUrl });

function assert(condition: boolean, message: string): asserts condition {
  if (!condition) throw new Error(message);
}

// A list with a query: the items have the type of the model.
const page = await bookshop.GET("/shops/{slug}/books", {
  params: { path: { slug: "corner" }, query: { sort: "price", limit: 2 } },
});
const titles: string[] | undefined = page.data?.items.map((book) => book.title);
assert(titles?.length === 2, `Wrong books: ${titles}`);

const unsorted = await bookshop.GET("/shops/{slug}/books", {
  // @ts-expect-error -- the picklist has no such value
  params: { path: { slug: "corner" }, query: { sort: "colour" } },
});
assert(unsorted.response.status === 422, "A wrong value was taken");

// A body, and a reply at another status than 200.
const added = await bookshop.POST("/shops/{slug}/books", {
  params: { path: { slug: "corner" } },
  headers: { authorization: "Bearer grace" },
  body: { isbn: "9780199232765", title: "War and Peace", author: "Leo Tolstoy", price: 1499, cost: 900, stock: 5 },
});
const price: number | undefined = added.data?.price;
assert(added.response.status === 201 && price === 1499, `Not added: ${JSON.stringify(added.error)}`);

// Errors have types, too.
const invalid = await bookshop.GET("/shops/{slug}/orders/{id}", {
  params: { path: { slug: "corner", id: 0 } },
  headers: { authorization: "Bearer grace" },
});
assert(invalid.error !== undefined, "An invalid id was taken");
const status: number = invalid.error.status;
assert(status === 422, `Wrong status: ${status}`);

// Each option of a variant, by its constant.
const cat = await hostile.POST("/models/pet", { body: { kind: "cat", lives: 9 } });
assert(cat.data?.kind === "cat" && cat.data.lives === 9, `No cat: ${JSON.stringify(cat)}`);
const wolf = await hostile.POST("/models/pet", { body: { kind: "wolf", name: "Ada" } });
assert(wolf.data?.kind === "wolf" && wolf.data.name === "Ada", `No wolf: ${JSON.stringify(wolf)}`);

// The input and the output differ.
const event = await hostile.POST("/models/event", { body: { at: "2026-11-21T04:00:00Z", until: null } });
const at: string | undefined = event.data?.at;
assert(at === "2026-11-21T04:00:00.000Z", `No event: ${JSON.stringify(event)}`);
const defaulted = await hostile.POST("/models/defaulted", { body: {} });
const a: string | undefined = defaulted.data?.a;
assert(a === "x", `No default: ${JSON.stringify(defaulted)}`);

// Recursion.
const tree = await hostile.POST("/models/tree", { body: { value: 1, children: [{ value: 2, children: [] }] } });
const leaf: number | undefined = tree.data?.children[0]?.value;
assert(leaf === 2, `No tree: ${JSON.stringify(tree)}`);

// Lists in a query, values in a path, headers.
const query = await hostile.GET("/parameters/query", { params: { query: { numbers: [1, 2], tags: ["a,b", "c"] } } });
assert(JSON.stringify(query.data?.numbers) === "[1,2]", `No list: ${JSON.stringify(query)}`);
assert(JSON.stringify(query.data?.tags) === '["a,b","c"]', `No list: ${JSON.stringify(query)}`);
const file = await hostile.GET("/parameters/rest/{name}", { params: { path: { name: "a/b ä" } } });
assert(file.data?.name === "a/b ä", `No name: ${JSON.stringify(file)}`);
const headers = await hostile.GET("/parameters/headers", { params: { header: { "X-Count": 3, "x-list": [1, 2] } } });
assert(headers.response.status === 200, `No headers: ${JSON.stringify(headers)}`);

// Replies at their statuses.
const taken = await hostile.PUT("/replies/created", { body: { taken: true } });
assert(taken.response.status === 409 && taken.error !== undefined, "Not refused");
const gone = await hostile.DELETE("/replies/nothing");
assert(gone.response.status === 204 && gone.data === undefined, "Something came back");

// Forms: an urlencoded one, and one with a file.
const form = await hostile.POST("/forms/order", {
  headers: { "content-type": "application/x-www-form-urlencoded" },
  body: { title: "Emma", price: 9.5, serial: null, kind: "used", numbers: [1, 2], address: { street: "High Street" } },
  bodySerializer: ({ numbers, address, ...fields }) => {
    const texts = Object.entries(fields).map(([name, value]) => [name, String(value)]);
    const all = [...texts, ...numbers.map((number) => ["numbers", String(number)]), ["address[street]", address.street]];
    return new URLSearchParams(all);
  },
});
assert(form.response.status === 200, `No form: ${JSON.stringify(form)}`);
const pictures = await hostile.POST("/forms/pictures", {
  body: { title: "Emma", cover: "", others: [] },
  bodySerializer: ({ title }) => {
    const data = new FormData();
    data.append("title", title);
    data.append("cover", new File(["..."], "cover.png", { type: "image/png" }));
    return data;
  },
});
assert(pictures.response.status === 200, `No pictures: ${JSON.stringify(pictures)}`);

console.log("Done");
