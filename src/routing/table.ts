import { HTTPError, RouteError } from "../errors.ts";
import type { Segment } from "./path.ts";
import type { RouteRecord } from "./route.ts";

/** Looks up the literal segments at one place of the tree. */

/** Above this many, a look-up by hash is cheaper than a comparison with each. */
const FEW = 8;

/** Values by segment. */
export class Literals<Value> {
  readonly #values = new Map<string, Value>();
  #few: { readonly text: string; readonly value: Value }[] = [];

  /** The value of a segment, made where there is none. */
  open(text: string, make: () => Value): Value {
    let value = this.#values.get(text);
    if (value === undefined) {
      value = make();
      this.#values.set(text, value);
      this.#few = this.#values.size > FEW ? [] : Array.from(this.#values, ([text, value]) => ({ text, value }));
    }
    return value;
  }

  /** The value of the segment that stands in a path from `start` to `end`. Cut out only where there are many to compare with. */
  at(path: string, start: number, end: number): Value | undefined {
    const few = this.#few;
    for (let index = 0; index < few.length; index++) {
      const { text, value } = few[index]!;
      if (text.length === end - start && path.startsWith(text, start)) return value;
    }
    return this.#values.size > FEW ? this.#values.get(path.slice(start, end)) : undefined;
  }
}

/** The flat table of routes: adds with a check for conflicts, finds by a tree of segments. */

/** A route that serves a path. */
export interface Match<Entry> {
  readonly entry: Entry;
  /** The values of the path's parameters, decoded, in their order. */
  readonly values: string[];
}

/** Routes in the order of their registration, one for each method and shape. */
export class RouteList<Route extends RouteRecord> {
  readonly #routes = new Map<string, Route>();
  /** The routes that declare a name which stands once in an application, by what is named and the name. */
  readonly #names = new Map<string, Route>();

  /** The routes in their order. */
  get all(): readonly Route[] {
    return [...this.#routes.values()];
  }

  /**
   * Adds routes, all or none.
   *
   * @param routes What to add.
   * @param action What is being done, for the message.
   * @throws {RouteError} With code `conflict`, when a method and shape is taken, or a name that a route declares.
   */
  add(routes: readonly Route[], action: string): void {
    const names = new Map<string, Route>();
    const added = new Map<string, Route>();
    for (const route of routes) {
      const key = `${route.method} ${route.template.shape}`;
      const before = this.#routes.get(key) ?? added.get(key);
      if (before) {
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
      added.set(key, route);
    }
    for (const [key, route] of added) this.#routes.set(key, route);
    for (const [name, route] of names) this.#names.set(name, route);
  }
}

function declaredNames({ options: { operationId, tool } }: RouteRecord): string[] {
  const names: string[] = [];
  if (operationId !== undefined) names.push(`operationId "${operationId}"`);
  if (typeof tool === "object" && tool.name !== undefined) names.push(`tool name "${tool.name}"`);
  return names;
}

/** Stands for the methods that nothing else serves at a path. */
export const ANY_METHOD = "*";

/** Stands for GET with an upgrade to a WebSocket. No client can send it as a method: it has a space. */
export const UPGRADE = "GET WebSocket";

interface Node<Entry> {
  readonly literals: Literals<Node<Entry>>;
  name: Node<Entry> | undefined;
  rest: Methods<Entry>;
  entries: Methods<Entry>;
}

/** What serves each method. They are compared: the method of a request is a string of its own, and hashing it costs more. */
type Methods<Entry> = readonly { readonly method: string; readonly entry: Entry }[];

/**
 * Finds what serves a method and path.
 *
 * A literal segment beats a parameter at the same place, and a parameter the rest. The cost follows the length of the path, not
 * the number of routes: each node of the tree is visited at most once.
 */
export class RouteTree<Entry> {
  readonly #root: Node<Entry> = emptyNode();

  /** Adds an entry for a method, or for {@linkcode ANY_METHOD}, under a path's segments. */
  add(method: string, segments: readonly Segment[], entry: Entry): void {
    let node = this.#root;
    for (const segment of segments) {
      if (segment.kind === "rest") {
        node.rest = [...node.rest, { method, entry }];
        return;
      }
      node = segment.kind === "name" ? node.name ??= emptyNode() : node.literals.open(segment.text, emptyNode);
    }
    node.entries = [...node.entries, { method, entry }];
  }

  /**
   * Finds the entry of the most specific shape that has the method; HEAD is served by GET, and an upgrade that nothing takes, too.
   *
   * The path is not cut out of the URL: a slice and its scans cost as much as the search itself.
   *
   * @param method The method, or {@linkcode UPGRADE}.
   * @param url The text that holds the path as it was sent.
   * @param start The index of the path's first slash.
   * @param end The index behind the path.
   * @throws {HTTPError} With 400 when the path is malformed, 404 when nothing matches it, 405 when nothing has the method, 426 when
   * only WebSockets are served.
   */
  find(method: string, url: string, start = 0, end: number = url.length): Match<Entry> {
    if (stands("%", url, start, end)) {
      const path = decodePath(url.slice(start, end));
      refuseDotSegments(path);
      const { entry, values } = this.#search(method, path, 0, path.length);
      return { entry, values: values.map(withSlashes) };
    }
    if (stands("/.", url, start, end)) refuseDotSegments(url.slice(start, end));
    return this.#search(method, url, start, end);
  }

  #search(method: string, text: string, start: number, end: number): Match<Entry> {
    const match = search(this.#root, text, start + 1, end, 0, method) ??
      (method === UPGRADE ? search(this.#root, text, start + 1, end, 0, "GET") : undefined);
    if (match === undefined) throw this.#refusal(text.slice(start, end), method);
    return match;
  }

  #refusal(path: string, method: string): HTTPError {
    const methods = new Set<string>();
    collectMethods(this.#root, path, 1, methods);
    if (methods.size === 0) return new HTTPError(404, "Nothing is served at this path");
    if (methods.has("GET")) methods.add("HEAD");
    if (methods.delete(UPGRADE)) {
      if (method === "GET" || method === "HEAD") {
        return new HTTPError(426, "This path serves a WebSocket", { headers: { upgrade: "websocket" } });
      }
      methods.add("GET");
    }
    return new HTTPError(405, "This path does not serve the method", {
      headers: { allow: [...methods].sort().join(", ") },
    });
  }
}

function emptyNode<Entry>(): Node<Entry> {
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
 * Visits matching shapes, the most specific first, until one of them has the method.
 *
 * @param text The text that holds the path.
 * @param start The index of the segment; above `end` where there is none left.
 * @param end The index behind the path.
 * @param names The number of parameters before the segment.
 */
function search<Entry>(
  node: Node<Entry>,
  text: string,
  start: number,
  end: number,
  names: number,
  method: string,
): Match<Entry> | undefined {
  if (start > end) return matchOf(node.entries, method, names);
  const stop = segmentEnd(text, start, end);
  const literal = node.literals.at(text, start, stop);
  const found = literal && search(literal, text, stop + 1, end, names, method);
  if (found !== undefined) return found;
  if (node.name && stop > start) {
    const named = search(node.name, text, stop + 1, end, names + 1, method);
    if (named !== undefined) return withValue(named, names, text.slice(start, stop));
  }
  const rest = start < end ? matchOf(node.rest, method, names + 1) : undefined;
  return rest && withValue(rest, names, text.slice(start, end));
}

/** A match whose values are filled in on the way back to the root, when there is no doubt any more. */
function matchOf<Entry>(
  methods: Methods<Entry>,
  method: string,
  names: number,
): Match<Entry> | undefined {
  const entry = pick(methods, method);
  return entry === undefined ? undefined : { entry, values: new Array(names) };
}

function withValue<Entry>(match: Match<Entry>, index: number, value: string): Match<Entry> {
  match.values[index] = value;
  return match;
}

/** Visits all matching shapes. */
function collectMethods<Entry>(node: Node<Entry>, path: string, start: number, methods: Set<string>): void {
  const add = (entries: Methods<Entry>) => entries.forEach(({ method }) => methods.add(method));
  if (start > path.length) return add(node.entries);
  const end = segmentEnd(path, start, path.length);
  const literal = node.literals.at(path, start, end);
  if (literal) collectMethods(literal, path, end + 1, methods);
  if (node.name && end > start) collectMethods(node.name, path, end + 1, methods);
  if (start < path.length) add(node.rest);
}

function segmentEnd(text: string, start: number, end: number): number {
  const slash = text.indexOf("/", start);
  return slash < 0 || slash > end ? end : slash;
}

/** Whether a part of a text has these characters. */
function stands(characters: string, text: string, start: number, end: number): boolean {
  const index = text.indexOf(characters, start);
  return index >= 0 && index < end;
}

/** Stands for an escaped slash, which does not separate. No decoded text can hold it: it is half a character. */
const SLASH = "\ud800";

/**
 * Decodes each segment of a path once.
 *
 * @throws {HTTPError} With 400, when an escape is broken.
 */
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
 * Refuses segments that would lead out of their place. A client resolves them before it sends; one that arrives, or hides in an
 * escaped slash, is there to deceive.
 *
 * @throws {HTTPError} With 400, when there is one.
 */
function refuseDotSegments(path: string): void {
  if (withSlashes(path).split("/").some((part) => part === "." || part === "..")) {
    throw new HTTPError(400, "The path has a dot segment");
  }
}
