/**
 * Guards that the framework makes itself, in place of `dependency()`, and guards inside of them.
 */
import type { HttpRequest } from "../http/request.ts";
import { callerThrough } from "./caller.ts";
import type {
  CallerOf,
  DeclaredReply,
  Dependency,
  InnerGuards,
  PreparedDependency,
  SessionCookieOf,
  Start,
} from "./dependency.ts";
import { isGuard } from "./guards.ts";
import { resolveOne } from "./resolver.ts";
import { combineWays, type SecurityWay } from "./security.ts";
import { type Args, bindAnyText, NO_PATH, ownerOf, TextFields } from "./text_fields.ts";

/** The parts of a guard. It reads the request itself, so it has no inputs. */
interface GuardParts<Value> {
  /** Its name in messages. */
  readonly name: string;
  readonly security: readonly SecurityWay[];
  readonly replies: readonly DeclaredReply[];
  /** Other dependencies that it needs, by the names of its arguments. */
  readonly deps?: Readonly<Record<string, Dependency<unknown, never>>>;
  readonly isSent: ((request: HttpRequest) => boolean) | undefined;
  /** The issuers of the tokens that it takes. */
  readonly issuers?: readonly string[];
  /** What prepares it at the start of an application. */
  readonly starts?: readonly Start[];
  /** The guards that it runs itself. */
  readonly inner?: InnerGuards;
  /** Names the caller that it has admitted. */
  readonly callerOf?: CallerOf;
  /** The cookie of its session. */
  readonly cookie?: SessionCookieOf;
  /** Makes the value, or rejects; it never throws. */
  readonly resolve: (request: HttpRequest, args: Record<string, unknown>) => Promise<Value>;
}

/** Makes a guard. */
export function makeGuard<Value, State>(parts: GuardParts<Value>): PreparedDependency & Dependency<Value, State> {
  const { name, security, replies, deps = {}, isSent, issuers = [], starts = [], inner } = parts;
  const { callerOf, cookie, resolve } = parts;
  const prepared: PreparedDependency = {
    kind: "dependency",
    name,
    options: {},
    deps: new Map(Object.entries(deps as Readonly<Record<string, PreparedDependency>>)),
    security,
    resolve,
    cleansUp: false,
    endsWithHandler: false,
    replies,
    isSent,
    issuers,
    starts,
    inner,
    callerOf,
    cookie,
  };
  return prepared as PreparedDependency & Dependency<Value, State>;
}

/** What the inner guards of one request have made, so that each is made once. */
export type Made = Map<PreparedDependency, Promise<unknown>>;

/**
 * A guard inside of another, which runs it itself, because its refusal is not the last word. It
 * makes its dependencies itself.
 */
export class InnerGuard {
  readonly dependency: PreparedDependency;
  readonly #fields: TextFields;
  /** The dependencies that it makes, by the names of its arguments. */
  readonly #needs: ReadonlyMap<string, InnerGuard>;
  /** The other dependencies that it needs: their names among the shared ones, by argument. */
  readonly #shared: ReadonlyMap<string, string>;

  /**
   * @param dependency The guard.
   * @param shared Collects the dependencies that the route makes, with a name for each: those that
   * are no guards, such as a connection, are made once for all who need them. Without it the guard
   * makes all that it needs.
   * @throws {RouteError} If the guard has inputs in the path, which it does not know, or binds a
   * name twice.
   */
  constructor(dependency: PreparedDependency, shared?: Map<PreparedDependency, string>) {
    const needs = new Map<string, InnerGuard>();
    const others = new Map<string, string>();
    for (const [argument, needed] of dependency.deps) {
      if (!shared || isGuard(needed)) needs.set(argument, new InnerGuard(needed, shared));
      else {
        if (!shared.has(needed)) shared.set(needed, `shared${shared.size}`);
        others.set(argument, shared.get(needed)!);
      }
    }
    this.dependency = dependency;
    this.#fields = new TextFields([ownerOf(dependency)], NO_PATH);
    this.#needs = needs;
    this.#shared = others;
  }

  /** The alternative ways to authenticate for it and for what it makes. */
  get security(): readonly SecurityWay[] {
    return combineWays([...this.#needs.values()].map(({ security }) => security).concat([this.dependency.security]));
  }

  /** Its replies, and those of what it makes. */
  get replies(): readonly DeclaredReply[] {
    return [...this.#needs.values()].flatMap(({ replies }) => replies).concat(this.dependency.replies);
  }

  /** What prepares it and what it makes at the start of an application. */
  get starts(): readonly Start[] {
    return [...this.#needs.values()].flatMap(({ starts }) => starts).concat(this.dependency.starts);
  }

  /** The issuers whose tokens it and what it makes take. */
  get issuers(): readonly string[] {
    return [...this.#needs.values()].flatMap(({ issuers }) => issuers).concat(this.dependency.issuers);
  }

  /** Whether it has run, or runs, for a request. */
  isMade(made: Made): boolean {
    return made.has(this.dependency);
  }

  /**
   * Makes the value.
   *
   * @param made What such guards of the same request have made.
   * @param shared The dependencies that the route has made, by name.
   * @throws {ValidationError} If its inputs are invalid.
   */
  run(request: HttpRequest, made: Made, shared: Readonly<Args> = {}): Promise<unknown> {
    let value = made.get(this.dependency);
    if (!value) made.set(this.dependency, value = this.#make(request, made, shared));
    return value;
  }

  /**
   * Names the caller that it has admitted, also by the guards that it needs: a role is no caller by
   * itself. Undefined if none of them knows.
   *
   * @param made What such guards of this request have made.
   */
  async callerOf(request: HttpRequest, made: Made): Promise<string | undefined> {
    const { dependency } = this;
    const needs = [...this.#needs.values()].map((need) => need.callerOf(request, made));
    const own = dependency.security.length === 0
      ? undefined
      : await callerThrough(dependency, request, await made.get(dependency));
    const callers = [...await Promise.all(needs), own];
    return callers.every((caller) => caller === undefined) ? undefined : JSON.stringify(callers);
  }

  async #make(request: HttpRequest, made: Made, shared: Readonly<Args>): Promise<unknown> {
    const values: Args = {};
    for (const [argument, need] of this.#needs) values[argument] = await need.run(request, made, shared);
    for (const [argument, name] of this.#shared) values[argument] = shared[name];
    const [args] = await bindAnyText(this.#fields, request);
    return await resolveOne(this.dependency, request, Object.assign(args!, values));
  }
}

/** The `deps` of a guard that has inner guards. */
export function sharedDeps(shared: ReadonlyMap<PreparedDependency, string>): Record<string, PreparedDependency> {
  return Object.fromEntries(Array.from(shared, ([dependency, name]) => [name, dependency]));
}
