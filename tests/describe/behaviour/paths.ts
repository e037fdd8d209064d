// The paths of a document, and which of them matches a request.

import type { Operation } from "./operations.ts";

interface Item {
  readonly segments: readonly string[];
  readonly operations: readonly Operation[];
}

/**
 * Finds operations by the path of a request. A segment that is spelled out wins over a name at the
 * same place.
 */
export class Paths {
  readonly #items: readonly Item[];

  constructor(operations: ReadonlyMap<string, readonly Operation[]>) {
    this.#items = [...operations].map(([path, operations]) => ({ segments: path.split("/"), operations }));
  }

  /** The operation that serves a path, by its method. */
  find(method: string, path: string): Operation | undefined {
    const found = this.#matching(path).filter(({ operations }) => operations.some((one) => one.method === method));
    const [best] = found.sort((one, other) => rank(one) < rank(other) ? -1 : 1);
    return best?.operations.find((operation) => operation.method === method);
  }

  /** The methods that a path serves. */
  methods(path: string): Set<string> {
    const methods = this.#matching(path).flatMap(({ operations }) => operations.map(({ method }) => method));
    return new Set(methods.includes("GET") ? [...methods, "HEAD"] : methods);
  }

  #matching(path: string): Item[] {
    const parts = path.split("/").map(decodeURIComponent);
    return this.#items.filter(({ segments }) =>
      segments.length === parts.length &&
      segments.every((segment, index) =>
        isName(segment) ? parts[index] !== "" : decodeURIComponent(segment) === parts[index]
      )
    );
  }
}

function isName(segment: string): boolean {
  return segment.startsWith("{");
}

/** A sort key for templates that match the same path. */
function rank({ segments }: Item): string {
  return segments.map((segment) => isName(segment) ? "1" : "0").join("");
}
