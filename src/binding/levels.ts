/**
 * Levels of dependencies, and the guards among them: what has to accept a request before its other
 * input is validated.
 */
import type { PreparedDependency } from "./dependency.ts";
import type { SecurityScheme } from "./security.ts";

/** The dependencies of a scope, or those of a route, which is the innermost level. */
export interface DependencyLevel {
  readonly deps: ReadonlyMap<string, PreparedDependency>;
  /** The dependencies for whose values requests are counted. No handler gets them. */
  readonly counted: readonly PreparedDependency[];
}

/** The index of each dependency's value. A dependency comes after those that it needs. */
export type Indices = ReadonlyMap<PreparedDependency, number>;

type Dependencies = ReadonlySet<PreparedDependency>;

export function declaredOn({ deps, counted }: DependencyLevel): PreparedDependency[] {
  return [...deps.values(), ...counted];
}

/** All dependencies of some levels, each once and after those that it needs. */
export function dependenciesOf(levels: readonly DependencyLevel[]): PreparedDependency[] {
  return [...withDependencies(levels.flatMap(declaredOn), new Map()).keys()];
}

/** Gives each further dependency an index, after those that it needs. */
export function withDependencies(dependencies: Iterable<PreparedDependency>, known: Indices): Indices {
  const indices = new Map(known);
  const add = (dependency: PreparedDependency): void => {
    if (indices.has(dependency)) return;
    for (const needed of dependency.deps.values()) add(needed);
    indices.set(dependency, indices.size);
  };
  for (const dependency of dependencies) add(dependency);
  return indices;
}

/**
 * The guards among dependencies: those that declare `security`, belong to a scope, or need a guard.
 * A replacement is a guard if the original is one.
 *
 * @param standing The dependencies of scopes.
 */
export function guardsAmong(
  dependencies: readonly PreparedDependency[],
  standing: readonly PreparedDependency[],
): Dependencies {
  const declared = new Set(standing.map(declaredAs));
  const known = new Map<PreparedDependency, boolean>();
  return new Set(dependencies.filter((dependency) => decide(declaredAs(dependency), declared, known)));
}

/** Whether it is a guard in any place: it, or one that it needs, declares `security`. */
export function isGuard(dependency: PreparedDependency): boolean {
  return guardsAmong([dependency], []).size > 0;
}

function decide(
  dependency: PreparedDependency,
  standing: Dependencies,
  known: Map<PreparedDependency, boolean>,
): boolean {
  let decision = known.get(dependency);
  if (decision === undefined) {
    const { security, deps } = dependency;
    decision = security.length > 0 || standing.has(dependency) ||
      deps.values().some((needed) => decide(needed, standing, known));
    known.set(dependency, decision);
  }
  return decision;
}

function declaredAs(dependency: PreparedDependency): PreparedDependency {
  return dependency.declared ?? dependency;
}

/** The guards of each level, the outermost level first, with the guards that they need. */
export function guardsOf(levels: readonly DependencyLevel[]): readonly (readonly PreparedDependency[])[] {
  const scopes = levels.slice(0, -1).map(declaredOn);
  const route = levels.slice(-1);
  const standing = [...scopes.flat(), ...route.flatMap(({ counted }) => counted)];
  return [...scopes, [...guardsAmong(dependenciesOf(route), standing)]];
}

/**
 * The rounds in which dependencies run. A guard with inputs of its own runs after the guards that
 * it needs: a client without credentials gets their 401, not a 422 that describes the inputs.
 *
 * @param dependencies Guards and their needs, each after those that it needs.
 */
export function roundsOf(
  dependencies: readonly PreparedDependency[],
  guards: Dependencies,
): readonly (readonly PreparedDependency[])[] {
  if (dependencies.length === 0) return [];
  const rounds = new Map<PreparedDependency, number>();
  const bringInputs = new Set<PreparedDependency>();
  for (const dependency of dependencies) {
    const needed = [...dependency.deps.values()];
    const isBringing = hasInputs(dependency) || needed.some((other) => !guards.has(other) && bringInputs.has(other));
    if (isBringing) bringInputs.add(dependency);
    if (!guards.has(dependency)) continue;
    const before = needed.flatMap((other) => rounds.get(other) ?? []);
    rounds.set(dependency, before.length === 0 ? 0 : Math.max(...before) + (isBringing ? 1 : 0));
  }
  // A dependency that is no guard runs with the first guard that needs it.
  for (const dependency of dependencies.toReversed()) {
    const round = rounds.get(dependency) ?? 0;
    for (const needed of dependency.deps.values()) {
      if (!guards.has(needed)) rounds.set(needed, Math.min(rounds.get(needed) ?? round, round));
    }
  }
  return Array.from({ length: Math.max(0, ...rounds.values()) + 1 }, (_, round) => {
    return dependencies.filter((dependency) => rounds.get(dependency) === round);
  });
}

function hasInputs({ options }: PreparedDependency): boolean {
  return Object.values(options).some((schemas) => Object.keys(schemas ?? {}).length > 0);
}

/**
 * Whether a shared cache could give one caller's reply to another: a guard does not declare what it
 * reads, or reads more than `Authorization`. Shared caches store no reply to a request with that
 * header (RFC 9111, section 3.5), and ignore keys in other headers.
 */
export function isForOneCaller(levels: readonly DependencyLevel[]): boolean {
  const standing = levels.slice(0, -1).flatMap(({ deps }) => [...deps.values()]);
  const others = [...levels.at(-1)!.deps.values(), ...levels.flatMap(({ counted }) => counted)];
  return [...standing, ...others.filter(isGuard)].some((guard) => {
    const all = [...withNeeds(guard)];
    return !all.some(saysWhatItReads) || !all.every(readsNothingElse);
  });
}

/** A guard, what it needs, and the guards that it runs itself. */
function* withNeeds(guard: PreparedDependency): Generator<PreparedDependency, void, void> {
  yield guard;
  for (const needed of [...guard.deps.values(), ...guard.inner?.guards ?? []]) yield* withNeeds(needed);
}

function saysWhatItReads({ security }: PreparedDependency): boolean {
  return security.some((way) => way.size > 0);
}

/** The path and the query are part of the key of a cache. */
function readsNothingElse({ options: { headers = {}, cookies = {} }, security }: PreparedDependency): boolean {
  if (Object.keys(cookies).length > 0) return false;
  if (Object.keys(headers).some((name) => !isAuthorization(name))) return false;
  return security.every((way) => [...way.values()].every(({ scheme }) => isInAuthorization(scheme)));
}

function isInAuthorization(scheme: SecurityScheme): boolean {
  if (scheme.type === "apiKey") return scheme.in === "header" && isAuthorization(scheme.name);
  return scheme.type !== "mutualTLS";
}

function isAuthorization(header: string): boolean {
  return header.toLowerCase() === "authorization";
}
