/** Routes: their checks, their compilation, and the names of their operations. */
import { type Binder, compileBinder, type GuardStep } from "../binding/binder.ts";
import { dependenciesOf, type Indices } from "../binding/levels.ts";
import type { Values } from "../binding/resolver.ts";
import { checkInputs, checkOuterInputs, declareInputs, type HandlerInputs } from "../binding/inputs.ts";
import { isStream } from "../binding/bodies.ts";
import {
  checkArity,
  isAsyncFunction,
  isAsyncGeneratorFunction,
  type PreparedDependency,
  readTextOptions,
  toDependencies,
} from "../binding/dependency.ts";
import { DEFAULT_LIMITS, type ResolvedLimits, resolveLimits } from "../http/limits.ts";
import { isDeclaredReply } from "../http/replies/declared_reply.ts";
import { WITHOUT_BODY } from "../http/reply.ts";
import type { ResourceMetadataHint } from "../http/challenge.ts";
import type { HttpRequest } from "../http/request.ts";
import type { RequestExamples } from "../http/documented.ts";
import type { RouteDeclaration, RouteInfo } from "../http/route_info.ts";
import { type Idempotency, readIdempotency } from "../idempotency/options.ts";
import type { RateLimiter, RateLimiters } from "../rate_limit/limiter.ts";
import type { DeclaredLimit } from "../rate_limit/rate_limit.ts";
import { quote } from "../base/options.ts";
import { isForm } from "../schema/form.ts";
import type { Middleware } from "./middleware.ts";
import { parsePath, type PathTemplate, type Segment } from "./path.ts";
import { checkOptionValues, effectiveOptions, type Level, type Scope, toLevel } from "./scope.ts";

export interface RouteParts {
  /** Shared by the copies of a route under other paths, and for tests. */
  readonly declared: {
    readonly method: string;
    readonly options: RouteInfo["options"];
    readonly handlerName: string;
    readonly inputs: HandlerInputs;
  };
  readonly template: PathTemplate;
  /** The application, includes and routers around it, the outermost first. */
  readonly scopes: readonly Scope[];
  /** The dependencies and limits of its scopes and its own, or their replacements in a test. */
  readonly levels: readonly Level[];
  /** The limits at work in a test; by default those of the application. */
  readonly limiters?: RateLimiters;
}

/** The common part of routes for requests and for WebSockets. */
export abstract class BaseRoute implements RouteInfo {
  readonly method: string;
  readonly template: PathTemplate;
  readonly options: RouteInfo["options"];
  readonly scopes: readonly Scope[];
  readonly levels: readonly Level[];
  readonly derivedId: string;
  /** The name of the operation. It is unique after {@linkcode assignOperationIds}. */
  operationId: string;
  protected readonly parts: RouteParts;
  #compiled: CompiledRoute | undefined;
  #queryNames: readonly string[] | undefined;

  protected constructor(parts: RouteParts) {
    const { declared: { method, options, handlerName }, template, scopes, levels } = parts;
    this.parts = parts;
    this.method = method;
    this.template = template;
    this.options = effectiveOptions(options, scopes);
    this.scopes = scopes;
    this.levels = levels;
    this.derivedId = derivedIdOf(handlerName, method, template);
    this.operationId = options.operationId ?? this.derivedId;
  }

  get path(): string {
    return this.template.text;
  }

  /** No other route with its method can have one of them. */
  get shapes(): readonly string[] {
    return [this.template.shape];
  }

  get patterns(): readonly (readonly Segment[])[] {
    return [this.template.segments];
  }

  get name(): string {
    return `${this.method} ${this.path}`;
  }

  /** The outermost first. They are complete when the application starts. */
  get middlewares(): readonly Middleware[] {
    return this.scopes.flatMap(({ middlewares }) => middlewares);
  }

  get crossOrigin(): boolean {
    return this.options.crossOrigin ?? false;
  }

  /** Its dependencies and those of its scopes, each after those that it needs. */
  get dependencies(): readonly PreparedDependency[] {
    return dependenciesOf(this.levels);
  }

  /** Identifies the declaration of which this route is a copy. */
  get declared(): object {
    return this.parts.declared;
  }

  /** The names of its query, also those that its dependencies declare. */
  get queryNames(): readonly string[] {
    if (this.#queryNames) return this.#queryNames;
    const all = [this.parts.declared.inputs, ...this.dependencies];
    return this.#queryNames = [...new Set(all.flatMap(({ options: { query = {} } }) => Object.keys(query)))];
  }

  get isLimited(): boolean {
    return this.levels.some(({ rateLimits }) => rateLimits.length > 0);
  }

  /** Compiled once, when the application starts to serve. */
  get compiled(): CompiledRoute {
    return this.#compiled ??= compileRoute({
      inputs: this.parts.declared.inputs,
      pathNames: this.template.names,
      name: this.name,
      levels: this.levels,
      limiters: this.parts.limiters ?? this.scopes[0]!.limiters,
    });
  }

  abstract with(changed: Partial<RouteParts>): BaseRoute;

  /**
   * Checks that its inputs can be bound to its path. Only the application checks the guards of
   * outer scopes: an include may add names to the path.
   *
   * @param isSamePath Whether the path has the same names as at the last check.
   * @throws {RouteError} If a name is bound twice, or the path lacks a parameter.
   */
  checkInputs(isSamePath = false): void {
    const { levels, template: { names, text } } = this;
    const name = `${this.method} ${text}`;
    if (!isSamePath) checkInputs(this.parts.declared.inputs, names, levels, name);
    if (this.scopes[0]!.isRoot) checkOuterInputs(names, levels, name);
  }

  limitsOver(base: ResolvedLimits): ResolvedLimits {
    return resolveLimits(this.options.limits, base, this.name);
  }
}

/**
 * What the challenges of a route add for a client that needs a token; undefined if its guards take
 * no tokens of an authorization server.
 */
export type ResourceMetadataHintOf = (route: BaseRoute, request: HttpRequest) => ResourceMetadataHint | undefined;

/**
 * Checks what all kinds of routes declare.
 *
 * @param path The path with the prefix of its router.
 * @throws {TypeError} If an option is wrong.
 * @throws {RouteError} If the path is malformed, or a name is bound twice.
 */
export function routeParts(
  method: string,
  path: string,
  given: RouteInfo["options"],
  handlerName: string,
  scope: Scope,
  rateLimits: readonly DeclaredLimit[],
): RouteParts {
  const template = parsePath(path, `register ${method}`);
  const name = `${method} ${template.text}`;
  const { params, query, headers, cookies } = given;
  const text = readTextOptions({ params, query, headers, cookies }, name);
  const { strict, ...entries } = text;
  const options = strict === undefined ? given : { ...given, ...entries } as RouteInfo["options"];
  // Only checks the limits. Those of the application are not known yet.
  resolveLimits(options.limits, DEFAULT_LIMITS, name);
  const own = toLevel(toDependencies(options.deps), rateLimits);
  const inputs = declareInputs(options, text, new Set(template.names), scope.level.deps, own.deps, name);
  const levels = [scope.level, own];
  checkInputs(inputs, template.names, levels, name);
  const declared = { method, options: Object.freeze({ ...options }), handlerName, inputs };
  return { declared, template, scopes: [scope], levels };
}

export type AnyHandler = (request: HttpRequest, args: never) => Promise<unknown> | AsyncGenerator<unknown>;

export class Route extends BaseRoute {
  readonly handler: AnyHandler;
  /** How it answers requests with an `Idempotency-Key`; undefined if it ignores the header. */
  readonly idempotency: Idempotency | undefined;

  protected constructor(parts: RouteParts, handler: AnyHandler) {
    super(parts);
    this.handler = handler;
    const { method, options } = parts.declared;
    this.idempotency = readIdempotency(options, method, streamOf(options, handler), this.name);
  }

  /**
   * Checks a route.
   *
   * @param path The path with the prefix of its router.
   * @param rateLimits The limits, which the other methods of one declaration share.
   * @throws {TypeError} If the handler is not async, or an option is wrong.
   * @throws {RouteError} If the path is malformed, or a name is bound twice.
   */
  static declare(
    method: string,
    path: string,
    options: RouteDeclaration,
    handler: unknown,
    scope: Scope,
    rateLimits: readonly DeclaredLimit[],
  ): Route {
    const name = `${method} ${path}`;
    checkHandler(handler, name);
    checkOptionValues(options, `register ${name}`);
    checkBody(options, name);
    checkStatus(options, handler, name);
    checkResult(options, handler, name);
    checkStreamed(new Map([...scope.level.deps, ...toDependencies(options.deps)]), handler, name);
    return new Route(routeParts(method, path, options, handler.name, scope, rateLimits), handler);
  }

  override with(changed: Partial<RouteParts>): Route {
    return new Route({ ...this.parts, ...changed }, this.handler);
  }
}

function streamOf({ body, response }: RouteDeclaration, handler: AnyHandler): string | undefined {
  if (body && isStream(body)) return "its body is a stream, which cannot be compared with another one";
  const isStreamed = isDeclaredReply(response) && (response.type === "events" || response.type === "json_lines");
  return isStreamed || isAsyncGeneratorFunction(handler) ? "its reply is a stream, which is not kept" : undefined;
}

function checkHandler(handler: unknown, name: string): asserts handler is AnyHandler {
  if (isAsyncFunction(handler) || isAsyncGeneratorFunction(handler)) {
    return checkArity(handler, `register ${name}: the handler`, "async (request, args) => …");
  }
  const got = typeof handler === "function" ? "a sync function" : typeof handler;
  throw new TypeError(
    `Cannot register ${name}: the handler must be an async function, got ${got}; write async (request, args) => …`,
  );
}

function checkResult({ response }: RouteDeclaration, handler: AnyHandler, name: string): void {
  if (!isDeclaredReply(response) || !isAsyncGeneratorFunction(handler)) return;
  if (response.type === "replies") {
    throw new TypeError(
      `Cannot register ${name}: its response is Replies(…), and the handler yields values, return reply(status, value) from an async function`,
    );
  }
  if (response.type !== "bytes" && response.type !== "text") return;
  const cure = response.type === "bytes" ? "return a ReadableStream from an async function" : "return a string";
  throw new TypeError(
    `Cannot register ${name}: its response is ${response.mediaType}, and the handler yields values, ${cure}`,
  );
}

/**
 * Refuses dependencies that would end before the handler uses them. Dependencies that only guards
 * need may end then.
 *
 * @param handed The dependencies that the handler gets, by name.
 * @throws {TypeError} If the handler streams, and one of them ends before the reply is sent.
 */
function checkStreamed(handed: ReadonlyMap<string, PreparedDependency>, handler: AnyHandler, name: string): void {
  if (!isAsyncGeneratorFunction(handler)) return;
  const ended = handed.entries().find(([, { endsWithHandler }]) => endsWithHandler);
  if (!ended) return;
  throw new TypeError(
    `Cannot register ${name}: its handler streams, and "${
      ended[0]
    }" ends before the reply is sent, declare that dependency without until: "handler"`,
  );
}

function checkBody({ body, form, examples }: RouteDeclaration, name: string): void {
  for (const part of Object.keys(examples ?? {}) as (keyof RequestExamples)[]) {
    if ((part === "body" ? body : form) !== undefined) continue;
    throw new TypeError(`Cannot register ${name}: "examples.${part}" has examples of no ${part}, declare "${part}"`);
  }
  if (body === undefined && form === undefined) return;
  if (name.startsWith("GET ") || name.startsWith("HEAD ")) {
    throw new TypeError(`Cannot register ${name}: a GET or HEAD request has no body, declare it under query`);
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
  if (isDeclaredReply(response) && response.type === "replies") {
    if (response.entries.has(status)) return;
    const known = [...response.entries.keys()].join(", ");
    throw new TypeError(
      `Cannot register ${name}: the status ${status} is not in Replies({ … }), which has ${known}, add it there`,
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

/**
 * Runs the guards and rate limits of a route and of its scopes. It returns the values of the
 * guards, or rejects with the refusal.
 */
export type Authorize = (request: HttpRequest) => Promise<Values>;

export interface LevelLimits {
  /** Count the request before the guards of the level run. */
  readonly before: readonly RateLimiter[];
  /** Count the values of dependencies, after the guards. */
  readonly after: readonly ValueLimit[];
}

export interface ValueLimit {
  readonly limiter: RateLimiter;
  readonly dependency: PreparedDependency;
}

export interface CompiledRoute {
  readonly binder: Binder;
  readonly limits: readonly LevelLimits[];
  /** Undefined if there is nothing to check. */
  readonly authorize: Authorize | undefined;
}

interface CompileParts {
  readonly inputs: HandlerInputs;
  readonly pathNames: readonly string[];
  readonly name: string;
  readonly levels: readonly Level[];
  readonly limiters: RateLimiters;
}

/**
 * @throws {TypeError} If the `store` of a limit makes no limiter.
 * @throws {RouteError} If a replacement binds a name twice, or one that the path lacks.
 */
export function compileRoute(parts: CompileParts): CompiledRoute {
  const binder = compileBinder(parts);
  const limits = limitsOf(parts);
  return { binder, limits, authorize: authorizeBy(limits, binder) };
}

/**
 * Numbers limits in the order of their declarations, so a limit has the same name in all processes.
 */
function limitsOf({ name, levels, limiters }: CompileParts): readonly LevelLimits[] {
  let number = 0;
  return levels.map(({ rateLimits }) => {
    const before: RateLimiter[] = [];
    const after: ValueLimit[] = [];
    for (const limit of rateLimits) {
      const limiter = limiters.limiterOf(limit, `${name}#${++number}`);
      if (limit.after) after.push({ limiter, dependency: limit.after.dependency });
      else before.push(limiter);
    }
    return { before, after };
  });
}

function authorizeBy(limits: readonly LevelLimits[], { guards, indices, isSingle }: Binder): Authorize | undefined {
  const steps = limits.flatMap(({ before, after }, level) => [
    ...before.map((limiter): GuardStep => ({ index: undefined, run: (request) => limiter.check(request) })),
    ...guards[level]!,
    ...after.map(({ limiter, dependency }): GuardStep => {
      const index = indices.get(dependency)!;
      return { index: undefined, run: (request, values) => limiter.checkValue(request, values[index]) };
    }),
  ]);
  return runInOrder(steps, isSingle);
}

/**
 * Counts a request again by all limits of its route, without running the guards.
 *
 * @throws {HTTPError} With 429.
 */
export async function countAgain(
  request: HttpRequest,
  values: Values,
  { limits, binder: { indices, isSingle } }: {
    readonly limits: readonly LevelLimits[];
    readonly binder: { readonly indices: Indices; readonly isSingle: boolean };
  },
): Promise<void> {
  for (const { before, after } of limits) {
    for (const limiter of before) await limiter.check(request);
    for (const { limiter, dependency } of after) {
      const value = isSingle ? values : (values as readonly unknown[])[indices.get(dependency)!];
      await limiter.checkValue(request, value);
    }
  }
}

/**
 * Runs steps one after another; undefined without steps.
 *
 * @param isSingle Whether the route has one dependency.
 */
export function runInOrder(steps: readonly GuardStep[], isSingle: boolean): Authorize | undefined {
  const [first] = steps;
  if (!first) return undefined;
  // Most routes with a guard have only that one, so it costs no further promise.
  if (steps.length === 1 && isSingle && first.index !== undefined) return (request) => first.run(request, [])!;
  return async (request) => {
    const values: unknown[] = [];
    for (let position = 0; position < steps.length; position++) {
      const { run, index } = steps[position]!;
      const pending = run(request, values);
      if (pending === undefined) continue;
      const value = await pending;
      if (index !== undefined) values[index] = value;
    }
    return isSingle ? values[0] : values;
  };
}

interface NamedOperation {
  readonly options: { readonly operationId?: string };
  readonly derivedId: string;
  operationId: string;
}

/**
 * Gives each operation a unique name. A default name that is taken gets the lowest free number, as
 * in `getBook2`.
 *
 * @param routes The routes of an application in their order.
 * @returns The same routes.
 */
export function assignOperationIds<Operation extends NamedOperation>(
  routes: readonly Operation[],
): readonly Operation[] {
  const taken = new Set(routes.map((route) => route.options.operationId));
  // The last number of each name: taken numbers are not tried again.
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
 * The default name of an operation: the name of the handler, else method and path, as in
 * `getBooksId`.
 *
 * It is ASCII, as validators and code generators require. Accents (`übersicht` becomes `ubersicht`)
 * and letters of other alphabets are dropped. A path without an ASCII word is `Path`.
 *
 * @param handlerName Empty if the handler has no name.
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
  // The tables of Unicode take time to load, and most names are ASCII.
  if (/^[ -~]*$/.test(text)) return text;
  return text.normalize("NFKD").replace(/\p{M}/gu, "");
}
