/** Compiles a route and its scopes into functions that make the arguments of its handler. */
import type { Issue } from "../base/errors.ts";
import type { HttpRequest } from "../http/request.ts";
import { type PreparedDependency, withNeeded } from "./dependency.ts";
import { declaredOn, type DependencyLevel, guardsAmong, type Indices, roundsOf, withDependencies } from "./levels.ts";
import { type Body, type HandlerInputs, wholePath } from "./inputs.ts";
import type { JsonBody } from "./bodies.ts";
import { needsOf, Stage, type Values } from "./resolver.ts";
import { StrictNames } from "./strict_names.ts";
import { type Args, bindAnyText, bindText, ownerOf, type PathNames, refuseIssues, TextFields } from "./text_fields.ts";

/**
 * Makes the arguments of a handler. The guards run first, then the functions in their order; an
 * undefined one has nothing to do.
 */
export type Binder = BinderOf<false, readonly Args[]> | BinderOf<true, Promise<readonly Args[]>>;

interface BinderOf<IsAsync extends boolean, Bound> {
  readonly dependencies: readonly PreparedDependency[];
  /** The guards of each level. They run before other input is validated and the body is read. */
  readonly guards: readonly (readonly GuardStep[])[];
  readonly hasGuards: boolean;
  readonly indices: Indices;
  readonly isSingle: boolean;
  readonly isAsync: IsAsync;
  /**
   * Binds the input: the arguments of the handler, then those of each dependency that is no guard.
   *
   * @throws {ValidationError} With all issues.
   */
  readonly bind: (request: HttpRequest) => Bound;
  /** Resolves the other dependencies, given their arguments and the values of the guards. */
  readonly resolve: ((request: HttpRequest, args: readonly Args[], values: Values) => Promise<Values>) | undefined;
  /** Adds the values of dependencies to the arguments of the handler. */
  readonly supply: ((args: Args, values: Values) => void) | undefined;
}

/** A step before the input of a route is validated: guards that run together, or another check. */
export interface GuardStep {
  /**
   * Rejects or throws to refuse the request. Undefined if there is nothing to wait for.
   *
   * @param values The values of earlier steps by their indices. The step may add its own.
   */
  readonly run: (request: HttpRequest, values: unknown[]) => Promise<unknown> | undefined;
  /** The index of the value in the promise; undefined if there is none. */
  readonly index: number | undefined;
}

interface BinderParts {
  readonly inputs: HandlerInputs;
  readonly pathNames: readonly string[];
  readonly name: string;
  readonly levels: readonly DependencyLevel[];
}

/** Compiles a route whose inputs are checked. */
export function compileBinder({ inputs, pathNames, name, levels }: BinderParts): Binder {
  const declared: PathNames = { all: pathNames, own: inputs.ownNames };
  const standing: PreparedDependency[] = [];
  const guards: GuardStep[][] = [];
  let indices: Indices = new Map();
  let others: readonly PreparedDependency[] = [];
  for (const [place, level] of levels.entries()) {
    const isScope = place < levels.length - 1;
    const made = indices.size;
    const needed = declaredOn(level);
    if (needed.length === 0) {
      guards.push([]);
      continue;
    }
    indices = withDependencies(needed, indices);
    standing.push(...(isScope ? needed : level.counted));
    const own = [...indices.keys()].slice(made);
    const among = guardsAmong(own, standing);
    const first = withNeeded<PreparedDependency>(among);
    const path = place < levels.length - 2 ? wholePath(pathNames) : declared;
    const rounds = roundsOf(own.filter((dependency) => first.has(dependency)), among);
    guards.push(rounds.map((round) => guardStep(new Stage(round, indices), path, name)));
    if (!isScope) others = own.filter((dependency) => !first.has(dependency));
  }
  const owners = [{ ...inputs, name }, ...others.map((dependency) => ownerOf(dependency, ` in ${name}`))];
  const fields = new TextFields(owners, declared, StrictNames.of(inputs.options, indices.keys()));
  const isSingle = indices.size === 1;
  const common = {
    dependencies: [...indices.keys()],
    guards,
    hasGuards: guards.some((steps) => steps.length > 0),
    indices,
    isSingle,
    resolve: others.length === 0 ? undefined : resolverOf(new Stage(others, indices), isSingle),
    supply: supplyOf(levels.slice(-2), indices, isSingle),
  };
  const { body } = inputs;
  const json = fields.isAsync ? undefined : body?.json;
  if (json) return { ...common, isAsync: true, bind: (request) => bindJson(fields, json, request) };
  if (fields.isAsync || body) {
    return { ...common, isAsync: true, bind: (request) => bindAll(fields, body ?? {}, request) };
  }
  const isEmpty = fields.isEmpty && others.length === 0;
  return { ...common, isAsync: false, bind: isEmpty ? () => [{}] : (request) => bindText(fields, request) };
}

/** Binds the inputs of some guards, and runs these together. */
function guardStep(stage: Stage, path: PathNames, name: string): GuardStep {
  const fields = new TextFields(stage.dependencies.map((dependency) => ownerOf(dependency, ` in ${name}`)), path);
  const index = stage.onlyIndex;
  // Without another promise for the only dependency of a stage.
  const resolve = index === undefined
    ? (request: HttpRequest, args: readonly Args[], values: unknown[]) => stage.resolve(request, args, 0, values)
    : (request: HttpRequest, args: readonly Args[], values: unknown[]) => stage.resolveOnly(request, args[0]!, values);
  const run: GuardStep["run"] = fields.isAsync
    ? async (request, values) => await resolve(request, await bindAnyText(fields, request), values)
    : (request, values) => resolve(request, bindText(fields, request), values);
  return { index, run };
}

const NO_VALUES: readonly unknown[] = [];

function resolverOf(stage: Stage, isSingle: boolean): Binder["resolve"] {
  if (isSingle) return (request, args) => stage.resolveOnly(request, args[1]!, NO_VALUES);
  return (request, args, values) => stage.resolve(request, args, 1, (values ?? []) as unknown[]);
}

/** A handler gets the dependencies of its scope and its own. */
function supplyOf(levels: readonly DependencyLevel[], indices: Indices, isSingle: boolean): Binder["supply"] {
  const handed = levels.flatMap(({ deps }) => needsOf(deps, indices));
  if (handed.length === 0) return undefined;
  return (args, values) => {
    for (const [name, index] of handed) args[name] = isSingle ? values : (values as readonly unknown[])[index];
  };
}

/**
 * Binds a JSON body beside sync fields. No async function: its promise costs a request with a JSON
 * body about 4 % CPU time.
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
