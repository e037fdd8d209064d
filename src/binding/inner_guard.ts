/**
 * Guards inside of a guard, which runs them itself, because their refusals are not the last word.
 */
import type { HttpRequest } from "../http/request.ts";
import type { DeclaredReply, PreparedDependency, Start } from "./dependency.ts";
import { resolveOne } from "./resolver.ts";
import { combineWays, type SecurityWay } from "./security.ts";
import { type Args, bindAnyText, NO_PATH, TextFields } from "./text_fields.ts";

/** What the inner guards of one request have made, so that each is made once. */
export type Made = Map<PreparedDependency, Promise<unknown>>;

/**
 * A guard that is run apart from those of the route, with the guards that it needs. Dependencies
 * that are no guards, such as a connection, are made by the route, once for all who need them.
 */
export class InnerGuard {
  readonly dependency: PreparedDependency;
  readonly #fields: TextFields;
  /** The guards that it needs, by the names of its arguments. */
  readonly #guards: ReadonlyMap<string, InnerGuard>;
  /** The other dependencies that it needs: their names among the shared ones, by argument. */
  readonly #shared: ReadonlyMap<string, string>;

  /**
   * @param dependency The guard.
   * @param shared Collects the dependencies that the route makes, with a name for each.
   * @throws {RouteError} If the guard has inputs in the path: it does not know the path.
   */
  constructor(dependency: PreparedDependency, shared: Map<PreparedDependency, string>) {
    const { name, options, deps } = dependency;
    const guards = new Map<string, InnerGuard>();
    const others = new Map<string, string>();
    for (const [argument, needed] of deps) {
      if (isGuard(needed)) guards.set(argument, new InnerGuard(needed, shared));
      else {
        if (!shared.has(needed)) shared.set(needed, `shared${shared.size}`);
        others.set(argument, shared.get(needed)!);
      }
    }
    this.dependency = dependency;
    this.#fields = new TextFields([{ isHandler: false, name, options, reserved: new Map() }], NO_PATH);
    this.#guards = guards;
    this.#shared = others;
  }

  /** The alternative ways to authenticate for it and the guards that it needs. */
  get security(): readonly SecurityWay[] {
    return combineWays([...this.#guards.values()].map(({ security }) => security).concat([this.dependency.security]));
  }

  /** Its replies, and those of the guards that it needs. */
  get replies(): readonly DeclaredReply[] {
    return [...this.#guards.values()].flatMap(({ replies }) => replies).concat(this.dependency.replies);
  }

  /** What prepares it and the guards that it needs at the start of an application. */
  get starts(): readonly Start[] {
    return [...this.#guards.values()].flatMap(({ starts }) => starts).concat(this.dependency.starts);
  }

  /** The issuers whose tokens it and the guards that it needs take. */
  get issuers(): readonly string[] {
    return [...this.#guards.values()].flatMap(({ issuers }) => issuers).concat(this.dependency.issuers);
  }

  /**
   * Makes the value.
   *
   * @param shared The dependencies that the route has made, by name.
   * @throws {ValidationError} If its inputs are invalid.
   */
  run(request: HttpRequest, shared: Readonly<Args>, made: Made): Promise<unknown> {
    let value = made.get(this.dependency);
    if (!value) made.set(this.dependency, value = this.#make(request, shared, made));
    return value;
  }

  async #make(request: HttpRequest, shared: Readonly<Args>, made: Made): Promise<unknown> {
    for (const guard of this.#guards.values()) await guard.run(request, shared, made);
    const [args] = await bindAnyText(this.#fields, request);
    for (const [argument, guard] of this.#guards) args![argument] = await guard.run(request, shared, made);
    for (const [argument, name] of this.#shared) args![argument] = shared[name];
    return await resolveOne(this.dependency, request, args!);
  }
}

/** The `deps` of a guard that has inner guards. */
export function sharedDeps(shared: ReadonlyMap<PreparedDependency, string>): Record<string, PreparedDependency> {
  return Object.fromEntries(Array.from(shared, ([dependency, name]) => [name, dependency]));
}

/** Whether a dependency, or one that it needs, declares how clients authenticate. */
function isGuard({ security, deps }: PreparedDependency): boolean {
  return security.length > 0 || [...deps.values()].some(isGuard);
}
