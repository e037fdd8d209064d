/** The record of a route: what the router, the document and tools are read off. */
import { isAsyncFunction, isAsyncGeneratorFunction } from "../binding/async_function.ts";
import { type Binder, compileBinder } from "../binding/binder.ts";
import { DEFAULT_LIMITS, type ResolvedLimits, resolveLimits } from "../http/limits.ts";
import { WITHOUT_BODY } from "../http/reply.ts";
import type { HttpRequest } from "../http/request.ts";
import type { RouteDeclaration, RouteInfo } from "../http/route_info.ts";
import { isForm } from "../schema/form_schema.ts";
import { isSchema } from "../schema/schema.ts";
import type { Middleware } from "./middleware.ts";
import { derivedIdOf } from "./operation_id.ts";
import { parsePath, type PathTemplate } from "./path.ts";

/** Answers a request with its arguments. */
export type AnyHandler = (
  request: HttpRequest,
  args: never,
) => Promise<unknown> | AsyncGenerator<unknown>;

/** Who holds middlewares that a route runs through; its list may grow until the scope is frozen. */
export interface MiddlewareScope {
  readonly middlewares: readonly Middleware[];
}

const OPTIONS = new Set([
  "params",
  "query",
  "headers",
  "cookies",
  "body",
  "form",
  "deps",
  "response",
  "responses",
  "status",
  "summary",
  "description",
  "doc",
  "tags",
  "operationId",
  "deprecated",
  "tool",
  "limits",
]);

type RouteParts = Pick<
  Route,
  "method" | "template" | "options" | "handler" | "scopes" | "binder" | "ownNames"
>;

/** A route, checked against its path. Copies under other paths share all but the path. */
export class Route implements RouteInfo {
  readonly method: string;
  readonly template: PathTemplate;
  readonly options: Readonly<RouteDeclaration>;
  readonly handler: AnyHandler;
  /** Who surrounds it, the outermost first. */
  readonly scopes: readonly MiddlewareScope[];
  /** Makes the handler's arguments. */
  readonly binder: Binder;
  /** The names in the path of its own declaration. */
  readonly ownNames: ReadonlySet<string>;
  /** A name for the operation, by handler, method and path. */
  readonly derivedId: string;
  /** The name of the operation; unique once the application has named all of its routes. */
  operationId: string;

  private constructor(parts: RouteParts) {
    this.method = parts.method;
    this.template = parts.template;
    this.options = parts.options;
    this.handler = parts.handler;
    this.scopes = parts.scopes;
    this.binder = parts.binder;
    this.ownNames = parts.ownNames;
    this.derivedId = derivedIdOf(parts.handler.name, parts.method, parts.template);
    this.operationId = parts.options.operationId ?? this.derivedId;
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
    checkOptions(options, name);
    checkStatus(options, handler, name);
    const template = parsePath(path, `register ${method}`);
    const ownNames = new Set(template.names);
    return new Route({
      method,
      template,
      options: Object.freeze({ ...options }),
      handler,
      scopes: [scope],
      binder: compile(options, template, ownNames, name),
      ownNames,
    });
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
  under(prefix: PathTemplate, scope: MiddlewareScope): Route {
    const scopes = [scope, ...this.scopes];
    if (prefix.text === "") return new Route({ ...this.#parts(), scopes });
    const template = parsePath(
      prefix.text + this.path,
      `include ${this.method}`,
    );
    const binder = prefix.names.length === 0 ? this.binder : compile(
      this.options,
      template,
      this.ownNames,
      `${this.method} ${template.text}`,
    );
    return new Route({ ...this.#parts(), template, scopes, binder });
  }

  /** The bounds that hold for it in an application. */
  limitsOver(base: ResolvedLimits): ResolvedLimits {
    return resolveLimits(
      this.options.limits,
      base,
      this.name,
    );
  }

  #parts(): RouteParts {
    const { method, template, options, handler, scopes, binder, ownNames } = this;
    return { method, template, options, handler, scopes, binder, ownNames };
  }
}

function compile(
  options: RouteDeclaration,
  path: PathTemplate,
  own: ReadonlySet<string>,
  name: string,
): Binder {
  resolveLimits(options.limits, DEFAULT_LIMITS, name);
  return compileBinder(options, { all: path.names, own }, name);
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

function checkOptions(options: RouteDeclaration, name: string): void {
  if (typeof options !== "object" || options === null) {
    throw new TypeError(
      `Cannot register ${name}: the options must be an object, got ${typeof options}`,
    );
  }
  for (const key of Object.keys(options)) {
    if (!OPTIONS.has(key)) {
      throw new TypeError(
        `Cannot register ${name}: the option "${key}" is unknown, use ${[...OPTIONS].join(", ")}`,
      );
    }
  }
  const { response, body } = options;
  for (
    const [key, schema] of Object.entries({
      response,
      body,
      ...options.responses,
    })
  ) {
    if (schema !== undefined && !isSchema(schema)) {
      throw new TypeError(
        `Cannot register ${name}: "${key}" must be a valibot schema`,
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
    throw new RangeError(`Cannot register ${name}: the status of a success must be from 200 to 399, got ${status}`);
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
