/** Compiles what a route declares into a function that makes its handler's arguments. */
import { type Issue, ValidationError } from "../errors.ts";
import type { HttpRequest } from "../http/request.ts";
import type { Schema } from "../schema/schema.ts";
import { checkInputs, dependencyNodeOf, type TextInputs } from "./dependency.ts";
import { JsonBody } from "./json_body.ts";
import { Resolver } from "./resolver.ts";
import { type Args, type InputOwner, type PathNames, TextFields } from "./text_fields.ts";

/** What a route declares of its input. */
export interface InputDeclaration extends TextInputs {
  readonly body?: Schema | undefined;
  readonly deps?: Readonly<Record<string, unknown>> | undefined;
}

/**
 * Makes a handler's arguments. A promise only where something has to be waited for.
 *
 * It throws, or rejects with, a `ValidationError` that lists every fault.
 */
export type Binder = (request: HttpRequest) => Args | Promise<Args>;

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
    taken: takenNames(declared, deps.map(([name]) => name)),
  };
  const owners = resolver.nodes.map((node): InputOwner => ({
    name: `${node.name} in ${owner}`,
    inputs: node.inputs,
    taken: takenNames(node.inputs, [...node.deps.keys()]),
  }));
  const fields = new TextFields([handler, ...owners], path);
  const body = declared.body && new JsonBody(declared.body, owner);
  if (!body && deps.length === 0) return (request) => bindText(fields, request);
  return (request) => bindAll(fields, body, deps.length > 0 ? resolver : undefined, request);
}

function bindText(fields: TextFields, request: HttpRequest): Args | Promise<Args> {
  const issues: Issue[] = [];
  const bound = fields.bind(request, issues);
  return bound instanceof Promise ? bound.then((args) => accept(args, issues)) : accept(bound, issues);
}

function accept(args: readonly Args[], issues: readonly Issue[]): Args {
  if (issues.length > 0) throw new ValidationError(issues);
  return args[0]!;
}

async function bindAll(
  fields: TextFields,
  body: JsonBody | undefined,
  resolver: Resolver | undefined,
  request: HttpRequest,
): Promise<Args> {
  const issues: Issue[] = [];
  const bound = fields.bind(request, issues);
  const args = bound instanceof Promise ? await bound : bound;
  if (body) args[0]!.body = await body.bind(request, issues);
  const own = accept(args, issues);
  if (resolver) await resolver.resolve(request, args);
  return own;
}

/** The names among the arguments that are not those of single inputs. */
function takenNames(
  declared: InputDeclaration,
  deps: readonly string[],
): Map<string, string> {
  const taken = new Map(deps.map((name) => [name, "a dependency"]));
  for (const group of ["headers", "cookies", "body"] as const) {
    if (declared[group] !== undefined) taken.set(group, `the ${group}`);
  }
  return taken;
}
