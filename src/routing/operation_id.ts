/** Names operations: each name stands once in an application, in letters that validators and code generators take. */
import type { PathTemplate } from "./path.ts";

/** What is read of a route, and the name that it is given. */
export interface NamedOperation {
  readonly options: { readonly operationId?: string };
  /** Its name where nothing else has it. */
  readonly derivedId: string;
  operationId: string;
}

/**
 * Gives each route a name of its own: those that were declared stay, one that was derived gets the lowest number that is free
 * where it is taken.
 *
 * @param routes The routes of an application, in their order.
 * @returns The same routes.
 */
export function assignOperationIds<Operation extends NamedOperation>(
  routes: readonly Operation[],
): readonly Operation[] {
  const taken = new Set(routes.map((route) => route.options.operationId));
  // Names are only ever added, so a number that was taken once need not be tried again.
  const numbers = new Map<string, number>();
  for (const route of routes) {
    if (route.options.operationId !== undefined) continue;
    const { derivedId } = route;
    let number = numbers.get(derivedId) ?? 1;
    let id = number === 1 ? derivedId : `${derivedId}${number}`;
    while (taken.has(id)) id = `${derivedId}${++number}`;
    numbers.set(derivedId, number);
    taken.add(id);
    route.operationId = id;
  }
  return routes;
}

/**
 * A name for an operation: the handler's, else one made of method and path, such as `getBooksId`.
 *
 * It is ASCII, whatever alphabet the names are written in: accents are dropped, and what is left of other alphabets stands for
 * nothing. `übersicht` becomes `ubersicht`, and a path that has no word in ASCII is called `Path`.
 *
 * @param handlerName The name of the handler; empty where it has none.
 * @param method The method, in upper case.
 * @param template The full path.
 */
export function derivedIdOf(handlerName: string, method: string, { segments }: PathTemplate): string {
  const name = withoutAccents(handlerName).replace(/[^A-Za-z0-9_$]+/g, "_");
  if (/[A-Za-z0-9$]/.test(name)) return name;
  const texts = segments.map((segment) => segment.kind === "literal" ? segment.text : segment.name);
  const words = texts.flatMap(wordsOf);
  if (words.length === 0) words.push(texts.every((text) => text === "") ? "root" : "path");
  const [first = "", ...others] = [...wordsOf(method.toLowerCase()), ...words];
  return first + others.map((word) => word[0]!.toUpperCase() + word.slice(1)).join("");
}

function wordsOf(text: string): string[] {
  return withoutAccents(text).match(/[A-Za-z0-9]+/g) ?? [];
}

function withoutAccents(text: string): string {
  return text.normalize("NFKD").replace(/\p{M}/gu, "");
}
