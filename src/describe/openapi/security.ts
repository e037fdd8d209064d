/** Security schemes and requirements. They replace the parameters of credentials. */
import type { PreparedDependency } from "../../binding/dependency.ts";
import { combineAlternatives, type SecurityAlternative, type SecurityScheme } from "../../binding/security.ts";
import { RouteError } from "../../base/errors.ts";
import type { ParameterInput, RouteInputs } from "../route/inputs.ts";
import type { OpenAPIOperation } from "../../http/operation.ts";

const AUTHORIZATION = "authorization";

/** For an `Authorization` header without a scheme: OpenAPI ignores a parameter with this name. */
const WHOLE_HEADER: SecurityScheme = {
  type: "apiKey",
  in: "header",
  name: "Authorization",
  description: "The whole value of the header, with its scheme: `Bearer …`, `Basic …`.",
};

interface Entry {
  readonly scheme: SecurityScheme;
  readonly route: string;
}

export class SecuritySchemes {
  readonly #entries = new Map<string, Entry>();

  /**
   * Undefined if there are none.
   *
   * @param route The name of the route, for messages.
   * @throws {RouteError} With code `conflict`, if another scheme has the same name.
   */
  of(route: string, { parameters, dependencies }: RouteInputs): OpenAPIOperation["security"] {
    const required = [...dependencies.map(({ security }) => security), wholeHeader(parameters, dependencies)];
    for (const [name, { scheme }] of required.flat().flatMap((way) => [...way])) this.#add(name, scheme, route);
    const all = combineAlternatives(required);
    return all.every((way) => way.size === 0) ? undefined : distinct(all);
  }

  /** In the order of first use; undefined if there are none. */
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
        `Cannot describe ${route}: its security scheme "${name}" is another one than ${
          known.route === route ? "that of another guard of it" : `that of ${known.route}`
        }, give one of the two another name`,
      );
    }
  }
}

/** Whether a parameter contains credentials. */
export function isCredential(parameter: ParameterInput, dependencies: readonly PreparedDependency[]): boolean {
  return schemesOf(dependencies).some((scheme) => carries(parameter, scheme));
}

function carries({ in: source, name }: ParameterInput, scheme: SecurityScheme): boolean {
  if (source === "header" && name.toLowerCase() === AUTHORIZATION && scheme.type !== "apiKey") {
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

/** For an `Authorization` header without a declared scheme. */
function wholeHeader(
  parameters: readonly ParameterInput[],
  dependencies: readonly PreparedDependency[],
): readonly SecurityAlternative[] {
  const header = parameters.find(({ in: source, name }) => source === "header" && name.toLowerCase() === AUTHORIZATION);
  if (!header || isCredential(header, dependencies)) return [];
  const way: SecurityAlternative = new Map([[AUTHORIZATION, { scheme: WHOLE_HEADER, scopes: [] }]]);
  return header.isRequired ? [way] : [new Map(), way];
}

/** The order of schemes and scopes does not matter. */
function distinct(alternatives: readonly SecurityAlternative[]): Record<string, string[]>[] {
  const requirements = alternatives.map((way) => {
    return Object.fromEntries([...way].map(([name, { scopes }]) => [name, [...scopes]]));
  });
  const keyOf = (requirement: Record<string, string[]>) =>
    JSON.stringify(Object.entries(requirement).map(([name, scopes]) => [name, scopes.toSorted()]).toSorted());
  return Map.groupBy(requirements, keyOf).values().map(([first]) => first!).toArray();
}
