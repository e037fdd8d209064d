/** Compiles the options of a route into a function that makes its handler's arguments. */
import type { Issue } from "../base/errors.ts";
import type { HttpRequest } from "../http/request.ts";
import type { RouteDeclaration } from "../http/route_info.ts";
import { checkTextOptions, type PreparedDependency, type TextOptions, toDependencies } from "./dependency.ts";
import { FormBody } from "./form_body.ts";
import { inheritedParams } from "./inherited_params.ts";
import {
  fieldsOf,
  type GuardLevel,
  type GuardScope,
  guardsOf,
  guardStep,
  levelsOf,
  ownersOf,
  type PlacedGuards,
} from "./scope_guards.ts";
import { JsonBody } from "./json_body.ts";
import { type Indices, NOTHING_MADE, Resolver, type Stage, type Values } from "./resolver.ts";
import { isStream, streamOpener } from "./stream_body.ts";
import {
  type Args,
  bindText,
  type InputOwner,
  type PathNames,
  refuseIssues,
  reserveName,
  TextFields,
} from "./text_fields.ts";

/** The options of a route that declare input. */
export type InputOptions = TextOptions & Pick<RouteDeclaration, "body" | "form" | "deps" | "limits">;

/**
 * Makes a handler's arguments. The members run in their order, those that are undefined have
 * nothing to do.
 */
export type Binder = BinderOf<false, readonly Args[]> | BinderOf<true, Promise<readonly Args[]>>;

interface BinderOf<IsAsync extends boolean, Bound> {
  /** All dependencies of the route and of its scopes. */
  readonly dependencies: readonly PreparedDependency[];
  /**
   * The guards of the scopes and of the route, in their order. They are resolved before any other
   * input is validated and before the body is read.
   */
  readonly guards: readonly PlacedGuards[];
  /** The places of the dependencies among the values. */
  readonly indices: Indices;
  /** Whether the route has one dependency, with those of its scopes. */
  readonly isSingle: boolean;
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
  /** The parts that a copy of the route can share. */
  readonly inputs: CompiledInputs;
}

/** What a binder is compiled of. */
interface BinderParts {
  readonly options: InputOptions;
  /** The names in the path of the route. */
  readonly path: PathNames;
  /** The route, for messages. */
  readonly name: string;
  /** The scopes around the route, the outermost first. The last one declares the route. */
  readonly scopes: readonly GuardScope[];
  /** Further guards of the route, which the handler does not get. */
  readonly counted: readonly PreparedDependency[];
  /** Whether the path is complete, because the outermost scope is an application. */
  readonly isComplete: boolean;
  /** The binder of the same route in fewer scopes. */
  readonly previous?: Binder | undefined;
}

/** The inputs of a stage of a route. */
interface CompiledFields {
  readonly dependencies: readonly PreparedDependency[];
  readonly fields: TextFields;
}

/** The inputs of a route, whose checks take time to compile. */
interface CompiledInputs {
  readonly pathNames: readonly string[];
  /** Of each round of the route's own guards. */
  readonly guards: readonly CompiledFields[];
  readonly others: CompiledFields;
  readonly body: Body | undefined;
}

/**
 * Compiles the options of a route.
 *
 * @throws {RouteError} If a name is bound twice, or the path does not contain a parameter.
 * @throws {TypeError} If a value is not a schema or dependency, or a schema cannot be satisfied.
 */
export function compileBinder(parts: BinderParts): Binder {
  const { options, path, name, scopes, counted, isComplete, previous } = parts;
  const deps = toDependencies(options.deps);
  const handed = scopes.at(-1)!.deps;
  const levels = levelsOf(scopes);
  const made = levels.findLast(isDefined)?.indices ?? NOTHING_MADE;
  const resolver = new Resolver(made, scopes.flatMap(guardsOf), handed, deps, counted);
  const inputs = compileInputs({ options, path, name, handed, deps, resolver, previous: previous?.inputs });
  const { fields } = inputs.others;
  const { body } = inputs;
  const guards = guardsOfScopes(levels, path, name, isComplete);
  if (resolver.guards.length > 0) {
    const steps = resolver.guards.map((stage, round) => guardStep(stage, inputs.guards[round]!.fields));
    guards.push({ place: scopes.length, steps });
  }
  const common = {
    dependencies: resolver.dependencies,
    guards,
    indices: resolver.indices,
    isSingle: resolver.isSingle,
    resolve: resolver.others.isEmpty
      ? undefined
      : (request: HttpRequest, args: readonly Args[], values: Values) => resolver.resolveOthers(request, args, values),
    supply: resolver.handsNothing ? undefined : (args: Args, values: Values) => resolver.supply(args, values),
    inputs,
  };
  if (!fields.isAsync && !body) {
    const isEmpty = fields.isEmpty && resolver.others.isEmpty;
    return { ...common, isAsync: false, bind: isEmpty ? () => [{}] : (request) => bindText(fields, request) };
  }
  const json = fields.isAsync ? undefined : body?.json;
  if (json) return { ...common, isAsync: true, bind: (request) => bindJson(fields, json, request) };
  return { ...common, isAsync: true, bind: (request) => bindAll(fields, body ?? {}, request) };
}

/**
 * The guards of the scopes. The path of a route in a router may lack names that an include adds, so
 * the guards of outer scopes are only prepared once it is complete.
 */
function guardsOfScopes(
  levels: readonly (GuardLevel | undefined)[],
  path: PathNames,
  name: string,
  isComplete: boolean,
): PlacedGuards[] {
  const whole: PathNames = { all: path.all, own: new Set(path.all) };
  return levels.flatMap((level, place) => {
    const declares = place === levels.length - 1;
    if (!declares && !isComplete) return [];
    const steps = level?.stepsFor(declares ? path : whole, name) ?? [];
    return steps.length > 0 ? [{ place, steps }] : [];
  });
}

function isDefined<Value>(value: Value | undefined): value is Value {
  return value !== undefined;
}

/** What the inputs of a route are compiled of. */
interface InputParts extends Pick<BinderParts, "options" | "path" | "name"> {
  /** The dependencies of the scope that declares the route, by name. */
  readonly handed: ReadonlyMap<string, PreparedDependency>;
  /** The dependencies of the route, by name. */
  readonly deps: ReadonlyMap<string, PreparedDependency>;
  readonly resolver: Resolver;
  readonly previous: CompiledInputs | undefined;
}

/** Compiles the inputs. What an earlier compilation has in common with it is taken from there. */
function compileInputs({ options, path, name, handed, deps, resolver, previous }: InputParts): CompiledInputs {
  const before = previous && isEqual(previous.pathNames, path.all) ? previous : undefined;
  const fieldsFor = (stage: Stage, known: CompiledFields | undefined, make: () => TextFields): CompiledFields => {
    const { dependencies } = stage;
    return known && isEqual(known.dependencies, dependencies) ? known : { dependencies, fields: make() };
  };
  const others = () =>
    new TextFields([handlerOf(options, path, handed, deps, name), ...ownersOf(resolver.others, name)], path);
  return {
    pathNames: path.all,
    others: fieldsFor(resolver.others, before?.others, others),
    guards: resolver.guards.map((stage, round) =>
      fieldsFor(stage, before?.guards[round], () => fieldsOf(stage, path, name))
    ),
    body: previous ? previous.body : bodyOf(options, name),
  };
}

function isEqual(some: readonly unknown[], others: readonly unknown[]): boolean {
  return some.length === others.length && some.every((value, index) => value === others[index]);
}

/**
 * The handler with its inputs, and the argument names that are not those of single inputs.
 *
 * @throws {RouteError} If a dependency has the name of another argument, or two of them give a path
 * parameter other types.
 */
function handlerOf(
  options: InputOptions,
  path: PathNames,
  handed: ReadonlyMap<string, PreparedDependency>,
  deps: ReadonlyMap<string, PreparedDependency>,
  name: string,
): InputOwner {
  const { params = {}, query, headers, cookies } = options;
  const reserved = new Map<string, string>();
  for (const dependency of handed.keys()) reserveName(reserved, dependency, "a dependency of its router", name);
  for (const dependency of deps.keys()) reserveName(reserved, dependency, "a dependency", name);
  for (const group of ["headers", "cookies", "body", "form"] as const) {
    if (options[group] !== undefined) reserveName(reserved, group, `the ${group}`, name);
  }
  const own = checkTextOptions({ params, query, headers, cookies }, name);
  const all = inheritedParams(params, path, [...deps, ...handed], name);
  return { isHandler: true, name, options: { ...own, params: all }, reserved };
}

/** The body of a route: one member is defined. */
interface Body {
  readonly json?: JsonBody;
  readonly form?: FormBody;
  readonly openStream?: ReturnType<typeof streamOpener>;
}

function bodyOf({ body, form, limits = {} }: InputOptions, name: string): Body | undefined {
  if (form) return { form: new FormBody(form, name) };
  if (!body) return undefined;
  return isStream(body) ? { openStream: streamOpener(limits, name) } : { json: new JsonBody(body, name) };
}

/**
 * Binds a JSON body beside sync fields. An async function would make one more promise for each
 * request, and a request with a JSON body costs some 4 % more CPU time then.
 */
function bindJson(fields: TextFields, json: JsonBody, request: HttpRequest): Promise<readonly Args[]> {
  const issues: Issue[] = [];
  const args = fields.bind(request, issues);
  const parse = (body: Uint8Array): readonly Args[] | Promise<readonly Args[]> => {
    const value = json.parse(body, request, issues);
    if (value instanceof Promise) return value.then((value) => withBody(args, value, issues));
    return withBody(args, value, issues);
  };
  const body = json.read(request);
  return body instanceof Promise ? body.then(parse) : Promise.resolve(parse(body));
}

function withBody(args: readonly Args[], value: unknown, issues: readonly Issue[]): readonly Args[] {
  args[0]!.body = value;
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
    const body = json.read(request);
    const value = json.parse(body instanceof Promise ? await body : body, request, issues);
    args[0]!.body = value instanceof Promise ? await value : value;
  }
  if (form) args[0]!.form = await form.bind(request, issues);
  refuseIssues(issues);
  if (openStream) args[0]!.body = openStream(request);
  return args;
}
