/**
 * What the document says of credentials: the security schemes that dependencies declare. Pages and clients ask for those, and send
 * them by themselves, so they stand in place of the parameters that carry them.
 */
import type { PreparedDependency } from "../../binding/dependency.ts";
import type { SecurityScheme, SecurityWay } from "../../binding/security.ts";
import { RouteError } from "../../errors.ts";
import type { ParameterInput, RouteInputs } from "../route/inputs.ts";
import type { OpenAPIOperation } from "./document.ts";

const HEADER = "authorization";

/** Stands for a header whose scheme nobody declares: OpenAPI has a header of that name ignored as a parameter. */
const UNDECLARED: SecurityScheme = {
  type: "apiKey",
  in: "header",
  name: "Authorization",
  description: "The whole value of the header, with its scheme: `Bearer …`, `Basic …`.",
};

/** A scheme of the document, and the route that it was first met at. */
interface Entry {
  readonly scheme: SecurityScheme;
  readonly route: string;
}

/** The security schemes of a document, by name. */
export class SecuritySchemes {
  readonly #entries = new Map<string, Entry>();

  /**
   * What an operation asks for: what all of its dependencies do. Undefined where none of them says anything.
   *
   * @param route What messages call its route.
   * @param inputs What it takes.
   * @throws {RouteError} With code `conflict`, when a scheme has the name of another one.
   */
  of(route: string, { parameters, dependencies }: RouteInputs): OpenAPIOperation["security"] {
    const asked = [...dependencies.map(({ security }) => security), undeclared(parameters, dependencies)];
    for (const [name, { scheme }] of asked.flat().flatMap((way) => [...way])) this.#add(name, scheme, route);
    const all = asked.filter((ways) => ways.length > 0).reduce(together, [new Map()]);
    return all.every((way) => way.size === 0) ? undefined : distinct(all.map(requirementOf));
  }

  /** All of them, in the order in which they were met; undefined where there are none. */
  definitions(): Record<string, SecurityScheme> | undefined {
    if (this.#entries.size === 0) return undefined;
    return Object.fromEntries([...this.#entries].map(([name, { scheme }]) => [name, scheme]));
  }

  #add(name: string, scheme: SecurityScheme, route: string): void {
    const known = this.#entries.get(name);
    if (!known) this.#entries.set(name, { scheme, route });
    else if (known.scheme !== scheme && JSON.stringify(known.scheme) !== JSON.stringify(scheme)) {
      throw new RouteError(
        "conflict",
        `Cannot describe ${route}: its security scheme "${name}" is another one than that of ${known.route}, rename one of them`,
      );
    }
  }
}

/** Whether a parameter carries what a security scheme of one of the dependencies describes. */
export function isCredential(parameter: ParameterInput, dependencies: readonly PreparedDependency[]): boolean {
  return schemesOf(dependencies).some((scheme) => carries(parameter, scheme));
}

function carries({ in: source, name }: ParameterInput, scheme: SecurityScheme): boolean {
  if (source === "header" && name.toLowerCase() === HEADER && scheme.type !== "apiKey") {
    return scheme.type !== "mutualTLS";
  }
  if (scheme.type !== "apiKey" || scheme.in !== source) return false;
  return source === "header" ? scheme.name.toLowerCase() === name.toLowerCase() : scheme.name === name;
}

function schemesOf(dependencies: readonly PreparedDependency[]): SecurityScheme[] {
  return dependencies.flatMap(({ security }) =>
    security.flatMap((way) => [...way.values()].map(({ scheme }) => scheme))
  );
}

/** The ways of an `Authorization` header that is read, but by no scheme that was declared. */
function undeclared(
  parameters: readonly ParameterInput[],
  dependencies: readonly PreparedDependency[],
): readonly SecurityWay[] {
  const header = parameters.find(({ in: source, name }) => source === "header" && name.toLowerCase() === HEADER);
  if (!header || isCredential(header, dependencies)) return [];
  const way: SecurityWay = new Map([[HEADER, { scheme: UNDECLARED, scopes: [] }]]);
  return header.isRequired ? [way] : [new Map(), way];
}

/** The ways to be let in by two who both have to let one in. */
function together(some: readonly SecurityWay[], others: readonly SecurityWay[]): readonly SecurityWay[] {
  return some.flatMap((way) => others.map((other) => both(way, other)));
}

function both(way: SecurityWay, other: SecurityWay): SecurityWay {
  const merged = new Map(way);
  for (const [name, { scheme, scopes }] of other) {
    const known = way.get(name)?.scopes ?? [];
    merged.set(name, { scheme, scopes: [...new Set([...known, ...scopes])] });
  }
  return merged;
}

function requirementOf(way: SecurityWay): Record<string, string[]> {
  return Object.fromEntries([...way].map(([name, { scopes }]) => [name, [...scopes]]));
}

/** Each once, be its schemes in whatever order. */
function distinct(requirements: readonly Record<string, string[]>[]): Record<string, string[]>[] {
  const seen = new Set<string>();
  return requirements.filter((requirement) => {
    const parts = Object.entries(requirement).map(([name, scopes]) => [name, scopes.toSorted()]);
    const text = JSON.stringify(parts.toSorted());
    return !seen.has(text) && seen.add(text);
  });
}
