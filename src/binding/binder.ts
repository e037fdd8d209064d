/** Compiles what a route declares into a function that makes its handler's arguments. */
import { type Issue, ValidationError } from "../errors.ts";
import type { HttpRequest } from "../http/request.ts";
import type { RouteDeclaration } from "../http/route_info.ts";
import { checkInputs, dependencyNodeOf, type TextInputs } from "./dependency.ts";
import { FormBody } from "./form_body.ts";
import { JsonBody } from "./json_body.ts";
import { Resolver } from "./resolver.ts";
import { claim, type InputOwner, type PathNames } from "./field.ts";
import { isStream, streamOpener } from "./stream_body.ts";
import { type Args, TextFields } from "./text_fields.ts";

/** What a route declares of its input. */
export type InputDeclaration = TextInputs & Pick<RouteDeclaration, "body" | "form" | "deps" | "limits">;

/** More faults than anyone reads; a body could hold tens of thousands. */
const MAX_ISSUES = 1000;

/** Makes a handler's arguments: binds the input at once, or later where there is input to wait for. */
export type Binder = BinderOf<false, readonly Args[]> | BinderOf<true, Promise<readonly Args[]>>;

interface BinderOf<IsAsync extends boolean, Bound> {
  /** Whether there is input to wait for. */
  readonly isAsync: IsAsync;
  /**
   * Makes the arguments from the input, and behind them those of each dependency.
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
  declared: InputDeclaration,
  path: PathNames,
  owner: string,
): Binder {
  const { params, query, headers, cookies } = declared;
  const deps = Object.entries(declared.deps ?? {}).map(([name, given]) =>
    [name, dependencyNodeOf(given, name)] as const
  );
  const resolver = new Resolver(new Map(deps));
  const handler: InputOwner = {
    name: owner,
    inputs: checkInputs({ params, query, headers, cookies }, owner),
    taken: takenNames(declared, deps.map(([name]) => name), owner),
  };
  const owners = resolver.nodes.map((node): InputOwner => ({
    name: `${node.name} in ${owner}`,
    inputs: node.inputs,
    taken: takenNames(node.inputs, [...node.deps.keys()], node.name),
  }));
  const fields = new TextFields([handler, ...owners], path);
  const isTextOnly = !fields.isAsync && !declared.body && !declared.form;
  const needed = deps.length > 0 ? resolver : undefined;
  if (isTextOnly) {
    const isEmpty = fields.isEmpty && needed === undefined;
    return { isAsync: false, bind: isEmpty ? () => [{}] : (request) => bindText(fields, request), resolver: needed };
  }
  const plan: Plan = { fields, ...bodyPlan(declared, owner) };
  return { isAsync: true, bind: (request) => bindAll(plan, request), resolver: needed };
}

/** What there is to bind; of the ways to take a body, one at most. */
interface Plan {
  readonly fields: TextFields;
  readonly json: JsonBody | undefined;
  readonly form: FormBody | undefined;
  readonly openStream: ReturnType<typeof streamOpener> | undefined;
}

function bodyPlan({ body, form, limits = {} }: InputDeclaration, owner: string): Omit<Plan, "fields"> {
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

function refuseFaults(issues: readonly Issue[]): void {
  if (issues.length > 0) throw new ValidationError(issues.slice(0, MAX_ISSUES));
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
function takenNames(declared: InputDeclaration, deps: readonly string[], owner: string): Map<string, string> {
  const taken = new Map<string, string>();
  for (const name of deps) claim(taken, name, "a dependency", owner);
  for (const group of ["headers", "cookies", "body", "form"] as const) {
    if (declared[group] !== undefined) claim(taken, group, `the ${group}`, owner);
  }
  return taken;
}
