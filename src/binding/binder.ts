/** Compiles what a route declares into a function that makes its handler's arguments. */
import { type Issue, ValidationError } from "../errors.ts";
import type { HttpRequest } from "../http/request.ts";
import type { RouteDeclaration } from "../http/route_info.ts";
import { checkInputs, dependencyNodeOf, type TextInputs } from "./dependency.ts";
import { JsonBody } from "./json_body.ts";
import { Resolver } from "./resolver.ts";
import { claim, type InputOwner, type PathNames } from "./field.ts";
import { type Args, TextFields } from "./text_fields.ts";

/** What a route declares of its input. */
export type InputDeclaration = TextInputs & Pick<RouteDeclaration, "body" | "deps">;

/** More faults than anyone reads; a body could hold tens of thousands. */
const MAX_ISSUES = 1000;

/** Makes a handler's arguments. */
export interface Binder {
  /** Whether there is something to wait for. */
  readonly isAsync: boolean;
  /**
   * Makes them. A promise only where `isAsync`.
   *
   * @throws {ValidationError} With every fault that was found.
   */
  readonly bind: (request: HttpRequest) => Args | Promise<Args>;
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
  const body = declared.body && new JsonBody(declared.body, owner);
  if (!fields.isAsync && !body && deps.length === 0) {
    return { isAsync: false, bind: fields.isEmpty ? () => ({}) : (request) => bindText(fields, request) };
  }
  const needed = deps.length > 0 ? resolver : undefined;
  return { isAsync: true, bind: (request) => bindAll(fields, body, needed, request) };
}

function bindText(fields: TextFields, request: HttpRequest): Args {
  const issues: Issue[] = [];
  return accept(fields.bind(request, issues), issues);
}

function accept(args: readonly Args[], issues: readonly Issue[]): Args {
  if (issues.length > 0) throw new ValidationError(issues.slice(0, MAX_ISSUES));
  return args[0]!;
}

async function bindAll(
  fields: TextFields,
  body: JsonBody | undefined,
  resolver: Resolver | undefined,
  request: HttpRequest,
): Promise<Args> {
  const issues: Issue[] = [];
  const args = fields.isAsync ? await fields.bindAsync(request, issues) : fields.bind(request, issues);
  if (body) {
    const text = body.read(request);
    const value = body.parse(text === "" ? text : await text, issues);
    args[0]!.body = value instanceof Promise ? await value : value;
  }
  const own = accept(args, issues);
  if (resolver) await resolver.resolve(request, args);
  return own;
}

/**
 * The names among the arguments that are not those of single inputs.
 *
 * @throws {RouteError} When a dependency has the name of a group.
 */
function takenNames(declared: InputDeclaration, deps: readonly string[], owner: string): Map<string, string> {
  const taken = new Map<string, string>();
  for (const name of deps) claim(taken, name, "a dependency", owner);
  for (const group of ["headers", "cookies", "body"] as const) {
    if (declared[group] !== undefined) claim(taken, group, `the ${group}`, owner);
  }
  return taken;
}
