/** Compiles what a route declares into a function that makes its handler's arguments. */
import { type Issue, ValidationError } from "../errors.ts";
import type { HttpRequest } from "../http/request.ts";
import type { RouteDeclaration } from "../http/route_info.ts";
import { checkInputs, type TextInputs, toDependency } from "./dependency.ts";
import { FormBody } from "./form_body.ts";
import { JsonBody } from "./json_body.ts";
import { Resolver, type Stage } from "./resolver.ts";
import { type Args, type InputOwner, type PathNames, reserveName, TextFields } from "./text_fields.ts";
import { boundIssues } from "../schema/issues.ts";
import { isStream, streamOpener } from "./stream_body.ts";

/** What a route declares of its input. */
export type InputOptions = TextInputs & Pick<RouteDeclaration, "body" | "form" | "deps" | "limits">;

/** Makes a handler's arguments: binds the input at once, or later where there is input to wait for. */
export type Binder = BinderOf<false, readonly Args[]> | BinderOf<true, Promise<readonly Args[]>>;

interface BinderOf<IsAsync extends boolean, Bound> {
  /**
   * Makes the guards, before anything else is validated and before the body is read. Undefined
   * where there are none.
   *
   * @returns What {@linkcode Resolver.rest} and {@linkcode Resolver.supply} take.
   * @throws {ValidationError} With every fault of the input of the guards of one stage.
   */
  readonly guard: ((request: HttpRequest) => Promise<unknown>) | undefined;
  /** Whether there is input to wait for. */
  readonly isAsync: IsAsync;
  /**
   * Makes the arguments from the input, and behind them those of each dependency that is no guard.
   *
   * @throws {ValidationError} With every fault that was found.
   */
  readonly bind: (request: HttpRequest) => Bound;
  /** Makes the dependencies, where there are any. */
  readonly resolver: Resolver | undefined;
}

/**
 * Compiles a declaration.
 *
 * @param declared What the route declares.
 * @param path The names in its path.
 * @param owner The route, for messages.
 * @throws {RouteError} When a name is bound twice, or the path does not hold a parameter.
 * @throws {TypeError} When something is no schema or dependency, or a schema cannot be satisfied.
 */
export function compileBinder(
  declared: InputOptions,
  path: PathNames,
  owner: string,
): Binder {
  const { params, query, headers, cookies } = declared;
  const deps = Object.entries(declared.deps ?? {}).map(([name, given]) => [name, toDependency(given, name)] as const);
  const resolver = new Resolver(new Map(deps));
  const handler: InputOwner = {
    isHandler: true,
    name: owner,
    inputs: checkInputs({ params, query, headers, cookies }, owner),
    taken: takenNames(declared, deps.map(([name]) => name), owner),
  };
  const fields = new TextFields([handler, ...ownersOf(resolver.rest, owner)], path);
  const needed = deps.length > 0 ? resolver : undefined;
  const common = { guard: compileGuard(resolver.guards, path, owner), resolver: needed };
  const isTextOnly = !fields.isAsync && !declared.body && !declared.form;
  if (isTextOnly) {
    const isEmpty = fields.isEmpty && resolver.rest.isEmpty;
    return { ...common, isAsync: false, bind: isEmpty ? () => [{}] : (request) => bindText(fields, request) };
  }
  const plan: Plan = { fields, ...bodyPlan(declared, owner) };
  return { ...common, isAsync: true, bind: (request) => bindAll(plan, request) };
}

/** The dependencies of a stage, as those whose inputs are bound. */
function ownersOf(stage: Stage, owner: string): InputOwner[] {
  return stage.nodes.map((node): InputOwner => ({
    isHandler: false,
    name: `${node.name} in ${owner}`,
    inputs: node.inputs,
    taken: takenNames(node.inputs, [...node.deps.keys()], node.name),
  }));
}

function compileGuard(stages: readonly Stage[], path: PathNames, owner: string): Binder["guard"] {
  const plans = stages.map((stage) => ({ stage, fields: new TextFields(ownersOf(stage, owner), path) }));
  const [first, ...others] = plans;
  if (first === undefined) return undefined;
  const { stage, fields } = first;
  // The most frequent case: no promise of its own.
  if (others.length === 0 && !fields.isAsync) {
    return (request) => stage.make(request, bindText(fields, request), 0, undefined);
  }
  return async (request) => {
    let made: unknown;
    for (const { stage, fields } of plans) {
      const args = fields.isAsync ? await bindTextAsync(fields, request) : bindText(fields, request);
      made = await stage.make(request, args, 0, made);
    }
    return made;
  };
}

/** What there is to bind; of the ways to take a body, one at most. */
interface Plan {
  readonly fields: TextFields;
  readonly json: JsonBody | undefined;
  readonly form: FormBody | undefined;
  readonly openStream: ReturnType<typeof streamOpener> | undefined;
}

function bodyPlan({ body, form, limits = {} }: InputOptions, owner: string): Omit<Plan, "fields"> {
  const isStreamed = body !== undefined && isStream(body);
  return {
    json: body && !isStreamed ? new JsonBody(body, owner) : undefined,
    form: form && new FormBody(form, owner),
    openStream: isStreamed ? streamOpener(limits, owner) : undefined,
  };
}

function bindText(fields: TextFields, request: HttpRequest): readonly Args[] {
  const issues: Issue[] = [];
  const args = fields.bind(request, issues);
  refuseFaults(issues);
  return args;
}

async function bindTextAsync(fields: TextFields, request: HttpRequest): Promise<readonly Args[]> {
  const issues: Issue[] = [];
  const args = await fields.bindAsync(request, issues);
  refuseFaults(issues);
  return args;
}

function refuseFaults(issues: readonly Issue[]): void {
  if (issues.length > 0) throw new ValidationError(boundIssues(issues));
}

async function bindAll({ fields, json, form, openStream }: Plan, request: HttpRequest): Promise<readonly Args[]> {
  const issues: Issue[] = [];
  const args = fields.isAsync ? await fields.bindAsync(request, issues) : fields.bind(request, issues);
  if (json) {
    const text = json.read(request);
    const value = json.parse(text === "" ? text : await text, request, issues);
    args[0]!.body = value instanceof Promise ? await value : value;
  }
  if (form) args[0]!.form = await form.bind(request, issues);
  refuseFaults(issues);
  if (openStream) args[0]!.body = openStream(request);
  return args;
}

/**
 * The names among the arguments that are not those of single inputs.
 *
 * @throws {RouteError} When a dependency has the name of a group.
 */
function takenNames(declared: InputOptions, deps: readonly string[], owner: string): Map<string, string> {
  const taken = new Map<string, string>();
  for (const name of deps) reserveName(taken, name, "a dependency", owner);
  for (const group of ["headers", "cookies", "body", "form"] as const) {
    if (declared[group] !== undefined) reserveName(taken, group, `the ${group}`, owner);
  }
  return taken;
}
