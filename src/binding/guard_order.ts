/** Which dependencies are guards, and which of them run together. */
import type { PreparedDependency } from "./dependency.ts";

type Dependencies = ReadonlySet<PreparedDependency>;

/**
 * The guards among dependencies: those that declare `security`, those that stand on a scope, and
 * those that need a guard.
 *
 * With replacements, a dependency is a guard if the one that it replaces is a guard.
 *
 * @param dependencies The dependencies.
 * @param standing The dependencies that stand on scopes.
 */
export function guardsAmong(
  dependencies: readonly PreparedDependency[],
  standing: readonly PreparedDependency[],
): Dependencies {
  const declared = new Set(standing.map(declaredAs));
  const known = new Map<PreparedDependency, boolean>();
  return new Set(dependencies.filter((dependency) => decide(declaredAs(dependency), declared, known)));
}

/**
 * Whether a dependency is a guard wherever it stands: it, or one that it needs, declares
 * `security`.
 */
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

/**
 * The dependencies of a scope, or of a route, in the rounds in which they run. A guard that has
 * inputs of its own runs in a later round than the guards that it needs: a client without
 * credentials gets their 401, and not a 422 that describes the inputs.
 *
 * @param dependencies Guards and what they need, each after those that it needs.
 * @param guards The guards among them.
 */
export function roundsOf(
  dependencies: readonly PreparedDependency[],
  guards: Dependencies,
): readonly (readonly PreparedDependency[])[] {
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
  // What is no guard runs with the first guard that needs it.
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
