/**
 * The table of routes: a list that refuses conflicts, and a tree of segments that finds a route.
 */
import { HTTPError, RouteError } from "../base/errors.ts";
import { WEBSOCKET } from "../http/websocket/handshake.ts";
import type { Segment } from "./path.ts";
import type { BaseRoute } from "./route.ts";

export interface Match<Entry> {
  readonly entry: Entry;
  /** The decoded values of the path parameters, in order. */
  readonly values: string[];
}

/** Routes in the order of their registration, one for each method and shape of path. */
export class RouteList<Route extends BaseRoute> {
  readonly #routes: Route[] = [];
  readonly #byShape = new Map<string, Route[]>();
  /** The routes by the unique names that they declare. */
  readonly #names = new Map<string, Route>();

  get all(): readonly Route[] {
    return [...this.#routes];
  }

  /**
   * Adds routes, all or none.
   *
   * @throws {RouteError} With code `conflict`, if a method and shape, or a declared name, is taken.
   */
  add(routes: readonly Route[], action: string): void {
    const names = new Map<string, Route>();
    const added = new Map<string, Route[]>();
    for (const route of routes) {
      for (const shape of route.shapes) {
        const others = added.get(shape) ?? this.#byShape.get(shape) ?? [];
        const before = others.find((other) => sharesMethod(route, other));
        if (!before) {
          added.set(shape, [...others, route]);
          continue;
        }
        throw new RouteError(
          "conflict",
          `Cannot ${action}: ${route.name} has the method and shape of ${before.name}, change or remove one of them`,
        );
      }
      for (const name of declaredNames(route)) {
        const owner = this.#names.get(name) ?? names.get(name);
        if (owner) {
          throw new RouteError("conflict", `Cannot ${action}: the ${name} of ${route.name} is that of ${owner.name}`);
        }
        names.set(name, route);
      }
    }
    this.#routes.push(...routes);
    for (const [shape, all] of added) this.#byShape.set(shape, all);
    for (const [name, route] of names) this.#names.set(name, route);
  }
}

/** Whether two routes of one shape would serve the same requests. */
function sharesMethod({ method }: BaseRoute, { method: other }: BaseRoute): boolean {
  if (method === other) return true;
  return (method === ANY_METHOD && other !== WEBSOCKET) || (other === ANY_METHOD && method !== WEBSOCKET);
}

function declaredNames({ options: { operationId, tool } }: BaseRoute): string[] {
  const names: string[] = [];
  if (operationId !== undefined) names.push(`operationId "${operationId}"`);
  if (typeof tool === "object" && tool.name !== undefined) names.push(`tool name "${tool.name}"`);
  return names;
}

/** All methods that no other entry of a path has. */
export const ANY_METHOD = "*";

/**
 * GET with an upgrade to a WebSocket. No client can send this as a method, because it has a space.
 */
export const UPGRADE = "GET WebSocket";

/** With more literals than this, hashing is cheaper than comparing each. */
const MAX_COMPARED = 8;

class Literals<Value> {
  readonly #values = new Map<string, Value>();
  #few: { readonly text: string; readonly value: Value }[] = [];

  /** Returns the value of a segment; makes it if there is none. */
  open(text: string, make: () => Value): Value {
    let value = this.#values.get(text);
    if (value === undefined) {
      value = make();
      this.#values.set(text, value);
      this.#few = this.#values.size > MAX_COMPARED
        ? []
        : Array.from(this.#values, ([text, value]) => ({ text, value }));
    }
    return value;
  }

  /**
   * The value of the segment between two indices of a path. The segment is copied only if it may
   * match.
   */
  at(path: string, start: number, end: number): Value | undefined {
    const few = this.#few;
    for (let index = 0; index < few.length; index++) {
      const { text, value } = few[index]!;
      // For the URLs that Deno's server makes, startsWith() takes twice as long.
      if (text.length === end - start && path.slice(start, end) === text) return value;
    }
    return this.#values.size > MAX_COMPARED ? this.#values.get(path.slice(start, end)) : undefined;
  }
}

interface Branch<Entry> {
  readonly literals: Literals<Branch<Entry>>;
  name: Branch<Entry> | undefined;
  rest: Methods<Entry>;
  entries: Methods<Entry>;
}

/** An array: comparing a few methods is faster than hashing the method of each request. */
type Methods<Entry> = readonly { readonly method: string; readonly entry: Entry }[];

/**
 * Finds the entry for a method and path.
 *
 * A literal segment precedes a parameter at the same place, and a parameter precedes the rest. The
 * cost depends on the length of the path, not on the number of routes: each branch is visited at
 * most once.
 */
export class RouteTree<Entry> {
  readonly #root: Branch<Entry> = emptyBranch();

  add(method: string, segments: readonly Segment[], entry: Entry): void {
    let branch = this.#root;
    for (const segment of segments) {
      if (segment.kind === "rest") {
        branch.rest = [...branch.rest, { method, entry }];
        return;
      }
      branch = segment.kind === "name"
        ? branch.name ??= emptyBranch()
        : branch.literals.open(segment.text, emptyBranch);
    }
    branch.entries = [...branch.entries, { method, entry }];
  }

  /**
   * Finds the most specific entry that has the method. GET also serves HEAD, and an upgrade at a
   * path without WebSocket. A WebSocket also gets GET and HEAD where nothing else does.
   *
   * The path is not copied out of the URL: that would cost as much as the search itself.
   *
   * @param method The method, or {@linkcode UPGRADE}.
   * @param start The index of the first slash of the path.
   * @param end The index after the path.
   * @throws {HTTPError} With 400 if the path is malformed, 404 if nothing matches it, 405 if no
   * match has the method.
   */
  find(method: string, url: string, start = 0, end: number = url.length): Match<Entry> {
    // The platform's URL takes a backslash for a slash, so handlers would see another path.
    if (contains("\\", url, start, end)) throw new HTTPError(400, "The path has a backslash, which must be %5C");
    if (contains("%", url, start, end)) {
      const path = decodePath(url.slice(start, end));
      refuseDotSegments(path);
      const { entry, values } = this.#search(method, path, 0, path.length);
      return { entry, values: values.map(withSlashes) };
    }
    // Most paths have no dot, and one character is found in half the time of two.
    if (contains(".", url, start, end) && contains("/.", url, start, end)) refuseDotSegments(url.slice(start, end));
    return this.#search(method, url, start, end);
  }

  /** The methods of a path in any order; none if its encoding is invalid. */
  methodsOf(url: string, start: number, end: number): Iterable<string> {
    try {
      const methods = this.#methodsAt(decodePath(url.slice(start, end)));
      methods.delete(ANY_METHOD);
      if (methods.delete(UPGRADE)) methods.add("GET");
      return methods;
    } catch {
      return [];
    }
  }

  #search(method: string, text: string, start: number, end: number): Match<Entry> {
    const other = method === UPGRADE ? "GET" : method === "GET" || method === "HEAD" ? UPGRADE : undefined;
    const match = search(this.#root, text, start + 1, end, 0, method) ??
      (other === undefined ? undefined : search(this.#root, text, start + 1, end, 0, other));
    if (match === undefined) throw this.#refusal(text.slice(start, end));
    return match;
  }

  #refusal(path: string): HTTPError {
    const methods = this.#methodsAt(path);
    if (methods.size === 0) return new HTTPError(404, "Nothing is served at this path");
    if (methods.delete(UPGRADE)) methods.add("GET");
    return new HTTPError(405, "This path does not serve the method", {
      headers: { allow: [...methods].sort().join(", ") },
    });
  }

  #methodsAt(path: string): Set<string> {
    const methods = new Set<string>();
    collectMethods(this.#root, path, 1, methods);
    if (methods.has("GET")) methods.add("HEAD");
    return methods;
  }
}

function emptyBranch<Entry>(): Branch<Entry> {
  return { literals: new Literals(), name: undefined, rest: [], entries: [] };
}

function pick<Entry>(methods: Methods<Entry>, method: string): Entry | undefined {
  return entryOf(methods, method) ?? (method === "HEAD" ? entryOf(methods, "GET") : undefined) ??
    entryOf(methods, ANY_METHOD);
}

function entryOf<Entry>(methods: Methods<Entry>, method: string): Entry | undefined {
  for (let index = 0; index < methods.length; index++) {
    const known = methods[index]!;
    if (known.method === method) return known.entry;
  }
  return undefined;
}

/**
 * Searches the matching shapes, the most specific first, until one has the method.
 *
 * @param start The index of the next segment; above `end` after the last one.
 * @param names The number of parameters so far.
 */
function search<Entry>(
  branch: Branch<Entry>,
  text: string,
  start: number,
  end: number,
  names: number,
  method: string,
): Match<Entry> | undefined {
  if (start > end) return matchOf(branch.entries, method, names);
  const stop = segmentEnd(text, start, end);
  const literal = branch.literals.at(text, start, stop);
  const found = literal && search(literal, text, stop + 1, end, names, method);
  if (found !== undefined) return found;
  if (branch.name && stop > start) {
    const named = search(branch.name, text, stop + 1, end, names + 1, method);
    if (named !== undefined) return withValue(named, names, text.slice(start, stop));
  }
  const rest = start < end ? matchOf(branch.rest, method, names + 1) : undefined;
  return rest && withValue(rest, names, text.slice(start, end));
}

/** A match without values. They are added on the way back, when the match is certain. */
function matchOf<Entry>(methods: Methods<Entry>, method: string, names: number): Match<Entry> | undefined {
  const entry = pick(methods, method);
  return entry === undefined ? undefined : { entry, values: new Array(names) };
}

function withValue<Entry>(match: Match<Entry>, index: number, value: string): Match<Entry> {
  match.values[index] = value;
  return match;
}

/** Collects the methods of all matching shapes. */
function collectMethods<Entry>(branch: Branch<Entry>, path: string, start: number, methods: Set<string>): void {
  const add = (entries: Methods<Entry>) => entries.forEach(({ method }) => methods.add(method));
  if (start > path.length) return add(branch.entries);
  const end = segmentEnd(path, start, path.length);
  const literal = branch.literals.at(path, start, end);
  if (literal) collectMethods(literal, path, end + 1, methods);
  if (branch.name && end > start) collectMethods(branch.name, path, end + 1, methods);
  if (start < path.length) add(branch.rest);
}

function segmentEnd(text: string, start: number, end: number): number {
  const slash = text.indexOf("/", start);
  return slash < 0 || slash > end ? end : slash;
}

/** Whether a range of a string contains some characters. */
function contains(characters: string, text: string, start: number, end: number): boolean {
  const index = text.indexOf(characters, start);
  return index >= 0 && index < end;
}

/** Replaces an escaped slash, which is no separator. No decoded string has this lone surrogate. */
const SLASH = "\ud800";

/** @throws {HTTPError} With 400, if an escape is invalid. */
function decodePath(path: string): string {
  try {
    return path.split("/").map((segment) => decodeURIComponent(segment).replaceAll("/", SLASH)).join("/");
  } catch {
    throw new HTTPError(400, "The path has a broken percent-encoding");
  }
}

function withSlashes(value: string): string {
  return value.replaceAll(SLASH, "/");
}

/**
 * Refuses dot segments. Clients resolve them before sending, so one that arrives, even after an
 * escaped slash, is an attack.
 *
 * @throws {HTTPError} With 400.
 */
function refuseDotSegments(path: string): void {
  if (withSlashes(path).split("/").some((part) => part === "." || part === "..")) {
    throw new HTTPError(400, "The path has a dot segment");
  }
}
