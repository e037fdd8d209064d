/** Compiles the options of a route into a function that makes its handler's arguments. */
import { type Issue, ValidationError } from "../errors.ts";
import type { HttpRequest } from "../http/request.ts";
import type { RouteDeclaration } from "../http/route_info.ts";
import { boundIssues } from "../schema/issues.ts";
import { checkTextOptions, type TextOptions, toDependencies } from "./dependency.ts";
import { FormBody } from "./form_body.ts";
import { JsonBody } from "./json_body.ts";
import { Resolver, type Stage, type Values } from "./resolver.ts";
import { isStream, streamOpener } from "./stream_body.ts";
import { type Args, type InputOwner, type PathNames, reserveName, TextFields } from "./text_fields.ts";

/** The options of a route that declare input. */
export type InputOptions = TextOptions & Pick<RouteDeclaration, "body" | "form" | "deps" | "limits">;

/**
 * Makes a handler's arguments. The members run in their order, those that are undefined have
 * nothing to do.
 */
export type Binder = BinderOf<false, readonly Args[]> | BinderOf<true, Promise<readonly Args[]>>;

interface BinderOf<IsAsync extends boolean, Bound> {
  /**
   * Resolves the guards, before any other input is validated and before the body is read.
   *
   * @throws {ValidationError} With all issues of the guards' input.
   */
  readonly guard: ((request: HttpRequest) => Promise<Values>) | undefined;
  /** Whether {@linkcode BinderOf.bind} returns a promise. */
  readonly isAsync: IsAsync;
  /**
   * Binds the input: the arguments of the handler, then those of each dependency that is not a
   * guard.
   *
   * @throws {ValidationError} With all issues.
   */
  readonly bind: (request: HttpRequest) => Bound;
  /** Resolves the other dependencies, given their arguments and the values of the guards. */
  readonly resolve: ((request: HttpRequest, args: readonly Args[], values: Values) => Promise<Values>) | undefined;
  /** Adds the values of dependencies to the arguments of the handler. */
  readonly supply: ((args: Args, values: Values) => void) | undefined;
}

/**
 * Compiles the options of a route.
 *
 * @param options The options.
 * @param path The names in its path.
 * @param name The route, for messages.
 * @throws {RouteError} If a name is bound twice, or the path does not contain a parameter.
 * @throws {TypeError} If a value is not a schema or dependency, or a schema cannot be satisfied.
 */
export function compileBinder(options: InputOptions, path: PathNames, name: string): Binder {
  const { params, query, headers, cookies } = options;
  const deps = toDependencies(options.deps);
  const resolver = new Resolver(deps);
  const { others } = resolver;
  const handler: InputOwner = {
    isHandler: true,
    name,
    options: checkTextOptions({ params, query, headers, cookies }, name),
    reserved: reservedNames(options, deps.keys(), name),
  };
  const fields = new TextFields([handler, ...ownersOf(others, name)], path);
  const common = {
    guard: compileGuard(resolver.guards, path, name),
    resolve: others.isEmpty
      ? undefined
      : (request: HttpRequest, args: readonly Args[], values: Values) => others.resolve(request, args, 1, values),
    supply: deps.size === 0 ? undefined : (args: Args, values: Values) => resolver.supply(args, values),
  };
  if (!fields.isAsync && !options.body && !options.form) {
    const isEmpty = fields.isEmpty && others.isEmpty;
    return { ...common, isAsync: false, bind: isEmpty ? () => [{}] : (request) => bindText(fields, request) };
  }
  const body = bodyOf(options, name);
  return { ...common, isAsync: true, bind: (request) => bindAll(fields, body, request) };
}

/** The owners of the inputs of a stage. */
function ownersOf(stage: Stage, route: string): InputOwner[] {
  return stage.dependencies.map(({ name, options, deps }) => ({
    isHandler: false,
    name: `${name} in ${route}`,
    options,
    reserved: reservedNames(options, deps.keys(), name),
  }));
}

/**
 * The argument names that are not those of single inputs.
 *
 * @throws {RouteError} If a dependency has the name of another argument.
 */
function reservedNames(options: InputOptions, deps: Iterable<string>, owner: string): Map<string, string> {
  const reserved = new Map<string, string>();
  for (const name of deps) reserveName(reserved, name, "a dependency", owner);
  for (const name of ["headers", "cookies", "body", "form"] as const) {
    if (options[name] !== undefined) reserveName(reserved, name, `the ${name}`, owner);
  }
  return reserved;
}

function compileGuard(guards: Stage, path: PathNames, name: string): Binder["guard"] {
  if (guards.isEmpty) return undefined;
  const fields = new TextFields(ownersOf(guards, name), path);
  // Without another promise, because most guards have sync schemas.
  if (!fields.isAsync) return (request) => guards.resolve(request, bindText(fields, request), 0, undefined);
  return async (request) => {
    const issues: Issue[] = [];
    const args = await fields.bindAsync(request, issues);
    refuseIssues(issues);
    return await guards.resolve(request, args, 0, undefined);
  };
}

/** The body of a route: at most one member is defined. */
interface Body {
  readonly json?: JsonBody;
  readonly form?: FormBody;
  readonly openStream?: ReturnType<typeof streamOpener>;
}

function bodyOf({ body, form, limits = {} }: InputOptions, name: string): Body {
  if (form) return { form: new FormBody(form, name) };
  if (!body) return {};
  return isStream(body) ? { openStream: streamOpener(limits, name) } : { json: new JsonBody(body, name) };
}

function bindText(fields: TextFields, request: HttpRequest): readonly Args[] {
  const issues: Issue[] = [];
  const args = fields.bind(request, issues);
  refuseIssues(issues);
  return args;
}

async function bindAll(
  fields: TextFields,
  { json, form, openStream }: Body,
  request: HttpRequest,
): Promise<readonly Args[]> {
  const issues: Issue[] = [];
  const args = fields.isAsync ? await fields.bindAsync(request, issues) : fields.bind(request, issues);
  if (json) {
    const text = json.read(request);
    const value = json.parse(text === "" ? text : await text, request, issues);
    args[0]!.body = value instanceof Promise ? await value : value;
  }
  if (form) args[0]!.form = await form.bind(request, issues);
  refuseIssues(issues);
  if (openStream) args[0]!.body = openStream(request);
  return args;
}

function refuseIssues(issues: readonly Issue[]): void {
  if (issues.length > 0) throw new ValidationError(boundIssues(issues));
}
