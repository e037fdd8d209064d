import { assertEquals } from "@std/assert";
import { assignOperationIds, derivedIdOf } from "../../../src/routing/route.ts";
import { parsePath } from "../../../src/routing/path.ts";
import { Random } from "../support/random.ts";

interface Named {
  readonly options: { readonly operationId?: string };
  readonly derivedId: string;
  operationId: string;
}

function route(derivedId: string, operationId?: string): Named {
  return { options: operationId === undefined ? {} : { operationId }, derivedId, operationId: operationId ?? "" };
}

function idsOf(routes: readonly Named[]): string[] {
  return assignOperationIds(routes).map(({ operationId }) => operationId);
}

/** The rule by hand: the lowest free number, for one route after the other. */
function expected(routes: readonly Named[]): string[] {
  const taken = new Set(routes.map(({ options }) => options.operationId));
  return routes.map(({ options, derivedId }) => {
    if (options.operationId !== undefined) return options.operationId;
    let id = derivedId;
    for (let number = 2; taken.has(id); number++) id = `${derivedId}${number}`;
    taken.add(id);
    return id;
  });
}

function derived(handlerName: string, path = "/books/{id}", method = "GET"): string {
  return derivedIdOf(handlerName, method, parsePath(path, "test"));
}

Deno.test("A default name that is taken gets the lowest free number, for random names", () => {
  const random = new Random(7);
  for (let round = 0; round < 200; round++) {
    const explicit = ["a", "a2", "a3", "b", "a22"].filter(() => random.oneIn(3));
    const routes = Array.from({ length: 12 }, () => {
      const id = random.oneIn(3) ? explicit.pop() : undefined;
      return route(random.pick(["a", "a2", "b", "a22", "b2"]), id);
    });
    assertEquals(idsOf(routes), expected(routes));
  }
});

Deno.test("Naming twice gives the same names", () => {
  const routes = ["a", "a", "a2", "a"].map((id) => route(id));
  assertEquals(idsOf(routes), ["a", "a2", "a22", "a3"]);
  assertEquals(idsOf(routes), ["a", "a2", "a22", "a3"]);
});

Deno.test("The cost of naming is linear in the number of routes, also if they share a name", () => {
  let looks = 0;
  const routes = Array.from({ length: 500 }, () => ({
    options: {},
    get derivedId() {
      looks++;
      return "same";
    },
    operationId: "",
  }));
  assertEquals(idsOf(routes).at(-1), "same500");
  assertEquals(looks, 500);
});

Deno.test("A name is that of the handler, or else of method and path", () => {
  assertEquals(derived("getBook"), "getBook");
  assertEquals(derived(""), "getBooksId");
  assertEquals(derived("", "/", "DELETE"), "deleteRoot");
  assertEquals(derived("", "/books/{id}/author-names/{rest...}"), "getBooksIdAuthorNamesRest");
});

Deno.test("A default name is ASCII, which code generators and validators require", () => {
  assertEquals(derived("", "/über/wege"), "getUberWege");
  assertEquals(derived("", "/cafés/{größe}"), "getCafesGroE");
  assertEquals(derived("übersicht"), "ubersicht");
  assertEquals(derived("größe"), "gro_e");
  assertEquals(derived("$get_2"), "$get_2");
  assertEquals(derived("bound list books"), "bound_list_books");
});

Deno.test("A handler name without ASCII letters is replaced by method and path", () => {
  assertEquals(derived("図書"), "getBooksId");
  assertEquals(derived("", "/図書"), "getPath");
  assertEquals(derived("図書", "/図書/{id}"), "getId");
  assertEquals(derived("", "/図書", "M-SEARCH"), "mSearchPath");
});
