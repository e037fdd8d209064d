/** What the records of all routes have in common: a place, who surrounds them, and how their arguments are made. */
import { type Binder, compileBinder } from "../binding/binder.ts";
import { DEFAULT_LIMITS, type ResolvedLimits, resolveLimits } from "../http/limits.ts";
import type { RouteInfo } from "../http/route_info.ts";
import type { Middleware } from "./middleware.ts";
import { derivedIdOf } from "./operation_id.ts";
import { parsePath, type PathTemplate } from "./path.ts";

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
