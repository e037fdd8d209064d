import { isAsyncFunction, isAsyncGeneratorFunction } from "../binding/dependency.ts";
import { WITHOUT_BODY } from "../http/reply.ts";
import type { HttpRequest } from "../http/request.ts";
import type { RouteDeclaration, RouteInfo } from "../http/route_info.ts";
import { type OptionNames, quote } from "../options.ts";
import { isForm } from "../schema/form.ts";
import { isSchema, schemaFault } from "../schema/schema.ts";
import { parsePath, type PathTemplate } from "./path.ts";
import { type Binder, compileBinder } from "../binding/binder.ts";
import { DEFAULT_LIMITS, type ResolvedLimits, resolveLimits } from "../http/limits.ts";
import type { Middleware } from "./middleware.ts";

/** Names operations: each name stands once in an application, in letters that validators and code generators take. */

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

/** What the records of all routes have in common: a place, who surrounds them, and how their arguments are made. */

/** Who holds middlewares that a route runs through; its list may grow until the scope is frozen. */
export interface MiddlewareScope {
  readonly middlewares: readonly Middleware[];
}

/** What a record is made of. */
export interface RecordParts {
  readonly method: string;
  readonly template: PathTemplate;
  readonly options: RouteInfo["options"];
  readonly handlerName: string;
  /** Who surrounds it, the outermost first. */
  readonly scopes: readonly MiddlewareScope[];
  /** Makes the handler's arguments. */
  readonly binder: Binder;
  /** The names in the path of its own declaration. */
  readonly ownNames: ReadonlySet<string>;
}

/** A route, checked against its path. Copies under other paths share all but the path. */
export abstract class RouteRecord implements RouteInfo {
  readonly method: string;
  readonly template: PathTemplate;
  readonly options: RouteInfo["options"];
  /** Who surrounds it, the outermost first. */
  readonly scopes: readonly MiddlewareScope[];
  /** Makes the handler's arguments. */
  readonly binder: Binder;
  /** A name for the operation, by handler, method and path. */
  readonly derivedId: string;
  /** The name of the operation; unique once the application has named all of its routes. */
  operationId: string;
  readonly #parts: RecordParts;

  protected constructor(parts: RecordParts) {
    this.method = parts.method;
    this.template = parts.template;
    this.options = parts.options;
    this.scopes = parts.scopes;
    this.binder = parts.binder;
    this.derivedId = derivedIdOf(parts.handlerName, parts.method, parts.template);
    this.operationId = parts.options.operationId ?? this.derivedId;
    this.#parts = parts;
  }

  /** The full path. */
  get path(): string {
    return this.template.text;
  }

  /** The route as messages call it. */
  get name(): string {
    return `${this.method} ${this.path}`;
  }

  /**
   * A light copy below a prefix and a further scope. What was compiled is shared, unless the prefix brings names to bind.
   *
   * @throws {RouteError} When the full path cannot be read, or a name is bound twice.
   */
  abstract under(prefix: PathTemplate, scope: MiddlewareScope): RouteRecord;

  /** The bounds that hold for it in an application. */
  limitsOver(base: ResolvedLimits): ResolvedLimits {
    return resolveLimits(this.options.limits, base, this.name);
  }

  /** The parts of a copy. */
  protected partsUnder(prefix: PathTemplate, scope: MiddlewareScope): RecordParts {
    const parts = this.#parts;
    const scopes = [scope, ...this.scopes];
    if (prefix.text === "") return { ...parts, scopes };
    const template = parsePath(prefix.text + this.path, `include ${this.method}`);
    const { options, method, ownNames } = parts;
    const binder = prefix.names.length === 0
      ? this.binder
      : compile(options, template, ownNames, `${method} ${template.text}`);
    return { ...parts, template, scopes, binder };
  }
}

/**
 * Reads the parts off a declaration.
 *
 * @param method The method, in upper case.
 * @param path The path, with the prefix of its router.
 * @param options What was declared.
 * @param handlerName The name of the handler; empty where it has none.
 * @param scope Where it was declared.
 * @throws {TypeError} When an option is wrong.
 * @throws {RouteError} When the path cannot be read, or a name is bound twice.
 */
export function declaredParts(
  method: string,
  path: string,
  options: RouteInfo["options"],
  handlerName: string,
  scope: MiddlewareScope,
): RecordParts {
  const template = parsePath(path, `register ${method}`);
  const ownNames = new Set(template.names);
  const binder = compile(options, template, ownNames, `${method} ${path}`);
  return { method, template, options: Object.freeze({ ...options }), handlerName, scopes: [scope], binder, ownNames };
}

function compile(
  options: RouteInfo["options"],
  path: PathTemplate,
  own: ReadonlySet<string>,
  name: string,
): Binder {
  resolveLimits(options.limits, DEFAULT_LIMITS, name);
  return compileBinder(options, { all: path.names, own }, name);
}

/** The record of a route that answers requests: what the router, the document and tools are read off. */

/** Answers a request with its arguments. */
export type AnyHandler = (
  request: HttpRequest,
  args: never,
) => Promise<unknown> | AsyncGenerator<unknown>;

/** The options of a route. */
export const ROUTE_OPTIONS: OptionNames<RouteDeclaration> = {
  params: true,
  query: true,
  headers: true,
  cookies: true,
  body: true,
  form: true,
  deps: true,
  response: true,
  responses: true,
  status: true,
  summary: true,
  description: true,
  doc: true,
  tags: true,
  operationId: true,
  deprecated: true,
  tool: true,
  limits: true,
};

/** A route that answers requests. */
export class Route extends RouteRecord {
  readonly handler: AnyHandler;

  private constructor(parts: RecordParts, handler: AnyHandler) {
    super(parts);
    this.handler = handler;
  }

  /**
   * Checks a declaration and makes its record.
   *
   * @param method The method, in upper case.
   * @param path The path, with the prefix of its router.
   * @param options What was declared.
   * @param handler What answers.
   * @param scope Where it was declared.
   * @throws {TypeError} When the handler is not async, or an option is wrong.
   * @throws {RouteError} When the path cannot be read, or a name is bound twice.
   */
  static declare(
    method: string,
    path: string,
    options: RouteDeclaration,
    handler: unknown,
    scope: MiddlewareScope,
  ): Route {
    const name = `${method} ${path}`;
    checkHandler(handler, name);
    checkDeclaration(options, name);
    checkStatus(options, handler, name);
    return new Route(declaredParts(method, path, options, handler.name, scope), handler);
  }

  override under(prefix: PathTemplate, scope: MiddlewareScope): Route {
    return new Route(this.partsUnder(prefix, scope), this.handler);
  }
}

function checkHandler(
  handler: unknown,
  name: string,
): asserts handler is AnyHandler {
  if (isAsyncFunction(handler) || isAsyncGeneratorFunction(handler)) return;
  const got = typeof handler === "function" ? "a sync function" : typeof handler;
  throw new TypeError(
    `Cannot register ${name}: the handler must be an async function, got ${got}; write async (request, args) => …`,
  );
}

function checkDeclaration(options: RouteDeclaration, name: string): void {
  const { response, body, tags } = options;
  if (tags !== undefined && !Array.isArray(tags)) {
    throw new TypeError(`Cannot register ${name}: "tags" must be a list of texts, write tags: ["books"]`);
  }
  for (
    const [key, schema] of Object.entries({
      response,
      body,
      ...options.responses,
    })
  ) {
    if (schema !== undefined && !isSchema(schema)) {
      throw new TypeError(
        `Cannot register ${name}: "${key}" ${schemaFault(schema)}`,
      );
    }
  }
  checkBody(options, name);
}

function checkBody({ body, form }: RouteDeclaration, name: string): void {
  if (body === undefined && form === undefined) return;
  if (name.startsWith("GET ") || name.startsWith("HEAD ")) {
    throw new TypeError(
      `Cannot register ${name}: a GET or HEAD request has no body, declare it under query`,
    );
  }
  if (form === undefined) return;
  if (!isForm(form)) {
    throw new TypeError(`Cannot register ${name}: "form" must be made by Form(), write form: Form(schema)`);
  }
  if (body !== undefined) {
    throw new TypeError(`Cannot register ${name}: a request has one body, leave out "body" or "form"`);
  }
}

function checkStatus({ status, response }: RouteDeclaration, handler: AnyHandler, name: string): void {
  if (status === undefined) return;
  if (!Number.isInteger(status) || status < 200 || status > 399) {
    throw new RangeError(
      `Cannot register ${name}: the status of a success must be from 200 to 399, got ${quote(status)}`,
    );
  }
  if (!WITHOUT_BODY.has(status)) return;
  const refusal = `Cannot register ${name}: a reply with status ${status} has no body`;
  if (isAsyncGeneratorFunction(handler)) {
    throw new TypeError(`${refusal}, and the handler streams one, leave out the status`);
  }
  if (response && response.type !== "void" && response.type !== "undefined") {
    throw new TypeError(`${refusal}, leave out the response model or the status`);
  }
}
