/** The flat table of routes: adds with a check for conflicts, finds by a tree of segments. */
import { HTTPError, RouteError } from "../errors.ts";
import type { Segment } from "./path.ts";
import type { Route } from "./route.ts";

/** A route that serves a path. */
export interface Match<Entry> {
  readonly entry: Entry;
  /** The values of the path's parameters, decoded, in their order. */
  readonly values: readonly string[];
}

/** Routes in the order of their registration, one for each method and shape. */
export class RouteList {
  readonly #routes = new Map<string, Route>();

  /** The routes in their order. */
  get all(): readonly Route[] {
    return [...this.#routes.values()];
  }

  /**
   * Adds routes, all or none.
   *
   * @param routes What to add.
   * @param action What is being done, for the message.
   * @throws {RouteError} With code `conflict`, when a method and shape is taken.
   */
  add(routes: readonly Route[], action: string): void {
    const ids = new Set(
      [...this.#routes.values()].map((route) => route.options.operationId),
    );
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
      const id = route.options.operationId;
      if (id !== undefined && ids.has(id)) {
        throw new RouteError(
          "conflict",
          `Cannot ${action}: the operationId "${id}" of ${route.name} is taken`,
        );
      }
      ids.add(id);
      added.set(key, route);
    }
    for (const [key, route] of added) this.#routes.set(key, route);
  }
}

interface Node<Entry> {
  readonly literals: Map<string, Node<Entry>>;
  name: Node<Entry> | undefined;
  rest: Map<string, Entry> | undefined;
  entries: Map<string, Entry> | undefined;
}

/**
 * Finds what serves a method and path.
 *
 * A literal segment beats a parameter at the same place, and a parameter the rest. The cost follows the length of the path, not
 * the number of routes: each node of the tree is visited at most once.
 */
export class RouteTree<Entry> {
  readonly #root: Node<Entry> = emptyNode();
  /** Paths without parameters, found in one step. */
  readonly #literal = new Map<string, Map<string, Entry>>();

  /** Adds an entry for a method under a path's segments. */
  add(method: string, segments: readonly Segment[], entry: Entry): void {
    let node = this.#root;
    for (const segment of segments) {
      if (segment.kind === "rest") {
        (node.rest ??= new Map()).set(method, entry);
        return;
      }
      node = segment.kind === "name" ? node.name ??= emptyNode() : childOf(node, segment.text);
    }
    (node.entries ??= new Map()).set(method, entry);
    if (segments.every((segment) => segment.kind === "literal")) {
      const path = segments.map((segment) => `/${(segment as { text: string }).text}`).join("");
      this.#literal.set(path, node.entries);
    }
  }

  /**
   * Finds the entry of the most specific shape that has the method; HEAD is served by GET.
   *
   * @param method The method.
   * @param path The path as it was sent.
   * @throws {HTTPError} With 400 when the path is malformed, 404 when nothing matches it, 405 when nothing has the method.
   */
  find(method: string, path: string): Match<Entry> {
    const literal = this.#literal.get(path);
    const direct = literal && pick(literal, method);
    if (direct !== undefined) return { entry: direct, values: NO_VALUES };
    const segments = splitPath(path);
    const values: string[] = [];
    const entry = search(this.#root, segments, 1, values, method);
    if (entry !== undefined) return { entry, values };
    throw this.#refusal(segments);
  }

  #refusal(segments: readonly string[]): HTTPError {
    const methods = new Set<string>();
    collectMethods(this.#root, segments, 1, methods);
    if (methods.size === 0) return new HTTPError(404, "Nothing is served at this path");
    if (methods.has("GET")) methods.add("HEAD");
    return new HTTPError(405, "This path does not serve the method", {
      headers: { allow: [...methods].sort().join(", ") },
    });
  }
}

const NO_VALUES: readonly string[] = [];

function emptyNode<Entry>(): Node<Entry> {
  return {
    literals: new Map(),
    name: undefined,
    rest: undefined,
    entries: undefined,
  };
}

function childOf<Entry>(node: Node<Entry>, text: string): Node<Entry> {
  let child = node.literals.get(text);
  if (!child) node.literals.set(text, child = emptyNode());
  return child;
}

function pick<Entry>(
  entries: Map<string, Entry>,
  method: string,
): Entry | undefined {
  const entry = entries.get(method);
  return entry === undefined && method === "HEAD" ? entries.get("GET") : entry;
}

/** Visits matching shapes, the most specific first, until one of them has the method. */
function search<Entry>(
  node: Node<Entry>,
  segments: readonly string[],
  index: number,
  values: string[],
  method: string,
): Entry | undefined {
  if (index === segments.length) return node.entries && pick(node.entries, method);
  const segment = segments[index]!;
  const literal = node.literals.get(segment);
  const found = literal && search(literal, segments, index + 1, values, method);
  if (found !== undefined) return found;
  if (node.name && segment !== "") {
    values.push(segment);
    const named = search(node.name, segments, index + 1, values, method);
    if (named !== undefined) return named;
    values.pop();
  }
  const entry = node.rest && pick(node.rest, method);
  const rest = entry === undefined ? "" : segments.slice(index).join("/");
  if (rest === "") return undefined;
  values.push(rest);
  return entry;
}

/** Visits all matching shapes. */
function collectMethods<Entry>(
  node: Node<Entry>,
  segments: readonly string[],
  index: number,
  methods: Set<string>,
): void {
  const add = (entries: Map<string, Entry> | undefined) => entries?.forEach((_, method) => methods.add(method));
  if (index === segments.length) return add(node.entries);
  const segment = segments[index]!;
  const literal = node.literals.get(segment);
  if (literal) collectMethods(literal, segments, index + 1, methods);
  if (node.name && segment !== "") collectMethods(node.name, segments, index + 1, methods);
  if (segment !== "" || index < segments.length - 1) add(node.rest);
}

/**
 * The segments of a path, each decoded once: an escaped slash does not separate. The first is what stands before the leading
 * slash, which is nothing.
 *
 * @throws {HTTPError} With 400, when an escape is broken, or a segment would lead out of its place.
 */
function splitPath(path: string): string[] {
  const segments = path.split("/");
  if (path.includes("%")) {
    for (let index = 1; index < segments.length; index++) {
      segments[index] = decode(segments[index]!);
    }
  } else if (!path.includes("/.")) {
    return segments;
  }
  if (segments.some(leadsOut)) {
    throw new HTTPError(400, "The path has a dot segment");
  }
  return segments;
}

/** A client resolves dot segments before it sends; one that arrives, or hides in an escaped slash, is there to deceive. */
function leadsOut(segment: string): boolean {
  return segment.split("/").some((part) => part === "." || part === "..");
}

function decode(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    throw new HTTPError(400, "The path has a broken percent-encoding");
  }
}
