import { assert, assertEquals, assertThrows } from "@std/assert";
import { HTTPError } from "../../../src/base/errors.ts";
import { parsePath, type PathTemplate } from "../../../src/routing/path.ts";
import { RouteTree } from "../../../src/routing/table.ts";
import { Random } from "../support/random.ts";

interface Declared {
  readonly method: string;
  readonly template: PathTemplate;
}

type Outcome =
  | { readonly route: string; readonly values: readonly string[] }
  | { readonly status: number; readonly allow?: readonly string[] };

function treeOf(routes: readonly Declared[]): RouteTree<string> {
  const tree = new RouteTree<string>();
  for (const { method, template } of routes) tree.add(method, template.segments, `${method} ${template.text}`);
  return tree;
}

function found(tree: RouteTree<string>, method: string, path: string): Outcome {
  try {
    const { entry, values } = tree.find(method, path);
    return { route: entry, values: [...values] };
  } catch (error) {
    assert(error instanceof HTTPError, String(error));
    const allow = new Headers(error.headers).get("allow");
    return allow === null ? { status: error.status } : { status: error.status, allow: allow.split(", ").toSorted() };
  }
}

/** The rules by hand, applied to each route in turn. */
function expected(routes: readonly Declared[], method: string, path: string): Outcome {
  let segments: string[];
  try {
    segments = path.split("/").slice(1).map(decodeURIComponent);
  } catch {
    return { status: 400 };
  }
  if (segments.some((segment) => segment.split("/").some((part) => part === "." || part === ".."))) {
    return { status: 400 };
  }
  const matching = routes.flatMap((route) => {
    const values = match(route.template, segments);
    return values ? [{ ...route, values }] : [];
  }).toSorted((a, b) => rank(a.template) < rank(b.template) ? -1 : rank(a.template) > rank(b.template) ? 1 : 0);
  if (matching.length === 0) return { status: 404 };
  for (const shape of new Set(matching.map(({ template }) => template.shape))) {
    const same = matching.filter(({ template }) => template.shape === shape);
    const serving = same.find((route) => route.method === method) ??
      (method === "HEAD" ? same.find((route) => route.method === "GET") : undefined);
    if (serving) return { route: `${serving.method} ${serving.template.text}`, values: serving.values };
  }
  const allow = new Set(matching.map((route) => route.method));
  if (allow.has("GET")) allow.add("HEAD");
  return { status: 405, allow: [...allow].toSorted() };
}

function match({ segments }: PathTemplate, path: readonly string[]): string[] | undefined {
  const values: string[] = [];
  for (const [index, segment] of segments.entries()) {
    if (segment.kind === "rest") {
      const rest = path.slice(index).join("/");
      return index < path.length && rest !== "" ? [...values, rest] : undefined;
    }
    const text = path[index];
    if (text === undefined || (segment.kind === "literal" ? text !== segment.text : text === "")) return undefined;
    if (segment.kind === "name") values.push(text);
  }
  return segments.length === path.length ? values : undefined;
}

/** Sorts the more specific first: at each place a literal, then a name, then the rest. */
function rank({ segments }: PathTemplate): string {
  return segments.map(({ kind }) => ({ literal: "0", name: "1", rest: "2" })[kind]).join("");
}

Deno.test("The tree finds the same as a search of all routes, on random tables and paths", () => {
  const random = new Random(20_261_121);
  const few = ["a", "b", "c", "", "é", "a b"];
  const many = [...few, "aa", "ab", "ba", "x", "y", "aaa", "d", "e"];
  const asked = [
    "a",
    "b",
    "c",
    "",
    "x",
    "%61",
    "a%20b",
    "a%2Fb",
    "%C3%A9",
    "é",
    "%",
    "%ff",
    "..",
    ".",
    "a%2F..",
    "%00",
  ];
  const methods = ["GET", "POST", "HEAD", "DELETE"];
  let served = 0;
  for (let round = 0; round < 400; round++) {
    const literals = round % 2 === 0 ? few : many;
    const routes: Declared[] = [];
    const taken = new Set<string>();
    for (let count = 1 + random.below(2 * literals.length); count > 0; count--) {
      const parts = [
        ...random.list(3, () => random.oneIn(3) ? `{p${random.below(1_000_000)}}` : random.pick(literals)),
      ];
      if (random.oneIn(4)) parts.push("{rest...}");
      if (parts.length === 0) parts.push(random.pick(literals));
      const names = parts.filter((part) => part.startsWith("{"));
      if (new Set(names).size < names.length) continue;
      const template = parsePath(`/${parts.join("/")}`, "test");
      const method = random.pick(methods);
      if (taken.has(`${method} ${template.shape}`)) continue;
      taken.add(`${method} ${template.shape}`);
      routes.push({ method, template });
    }
    const tree = treeOf(routes);
    for (let turn = 0; turn < 40; turn++) {
      const parts = random.list(4, () => random.pick(asked));
      const path = `/${(parts.length === 0 ? [""] : parts).join("/")}`;
      const method = random.pick([...methods, "PUT"]);
      const outcome = expected(routes, method, path);
      const table = routes.map((route) => `${route.method} ${route.template.text}`);
      assertEquals(found(tree, method, path), outcome, `${method} ${path} of ${JSON.stringify(table)}`);
      if ("route" in outcome) served++;
    }
  }
  assert(served > 1_000, String(served));
});

Deno.test("A rest takes at least one character, slashes included", () => {
  const tree = treeOf([{ method: "GET", template: parsePath("/files/{path...}", "test") }]);
  const table: [path: string, values: string[] | undefined][] = [
    ["/files/a", ["a"]],
    ["/files/a/b/c.txt", ["a/b/c.txt"]],
    ["/files/a/", ["a/"]],
    ["/files//", ["/"]],
    ["/files//a", ["/a"]],
    ["/files/a%2Fb", ["a/b"]],
    ["/files/%2F", ["/"]],
    ["/files/", undefined],
    ["/files", undefined],
    ["/file/a", undefined],
  ];
  for (const [path, values] of table) {
    const outcome = found(tree, "GET", path);
    if (values) assertEquals(outcome, { route: "GET /files/{path...}", values }, path);
    else assertEquals(outcome, { status: 404 }, path);
  }
});

Deno.test("A name takes one segment that is not empty, decoded once", () => {
  const tree = treeOf([{ method: "GET", template: parsePath("/{a}/x/{b}", "test") }]);
  assertEquals(found(tree, "GET", "/1/x/2"), { route: "GET /{a}/x/{b}", values: ["1", "2"] });
  assertEquals(found(tree, "GET", "/%2541/x/a%2Fb"), { route: "GET /{a}/x/{b}", values: ["%41", "a/b"] });
  for (const path of ["//x/2", "/1/x/", "/1/x", "/1/x/2/", "/1/y/2", "/1/X/2"]) {
    assertEquals(found(tree, "GET", path), { status: 404 }, path);
  }
});

Deno.test("Names of objects' members are ordinary literals and methods", () => {
  const words = ["constructor", "__proto__", "toString", "hasOwnProperty"];
  const tree = new RouteTree<string>();
  for (const word of words) tree.add("GET", parsePath(`/${word}`, "test").segments, word);
  for (const word of words) assertEquals(tree.find("GET", `/${word}`), { entry: word, values: [] });
  for (const method of words) {
    assertEquals(assertThrows(() => tree.find(method, "/constructor"), HTTPError).status, 405);
  }
  assertEquals(assertThrows(() => tree.find("GET", "/valueOf"), HTTPError).status, 404);
});

Deno.test("A search costs no more if many shapes share a start, even for a path that matches none", () => {
  const tree = new RouteTree<string>();
  const names = "abcdefghijklmnop".split("");
  let entries = 0;
  for (let bits = 0; bits < 2 ** 12; bits++) {
    const path = names.slice(0, 12).map((name, index) => bits & (1 << index) ? `/{${name}}` : "/x").join("");
    tree.add("GET", parsePath(`${path}/end`, "test").segments, path);
    entries++;
  }
  const path = "/x".repeat(12);
  assertEquals(tree.find("GET", `${path}/end`).values, []);
  assertEquals(assertThrows(() => tree.find("GET", `${path}/no`), HTTPError).status, 404);
  assertEquals(entries, 4_096);
});
