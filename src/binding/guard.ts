/** Guards that the framework makes itself, in place of `dependency()`. */
import type { HttpRequest } from "../http/request.ts";
import type { DeclaredReply, Dependency, InnerGuards, PreparedDependency, Start } from "./dependency.ts";
import type { SecurityWay } from "./security.ts";

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
  /** Makes the value, or rejects; it never throws. */
  readonly resolve: (request: HttpRequest, args: Record<string, unknown>) => Promise<Value>;
}

/** Makes a guard. */
export function makeGuard<Value, State>(parts: GuardParts<Value>): PreparedDependency & Dependency<Value, State> {
  const { name, security, replies, deps = {}, isSent, issuers = [], starts = [], inner, resolve } = parts;
  const prepared: PreparedDependency = {
    kind: "dependency",
    name,
    options: {},
    deps: new Map(Object.entries(deps as Readonly<Record<string, PreparedDependency>>)),
    security,
    resolve,
    cleansUp: false,
    replies,
    isSent,
    issuers,
    starts,
    inner,
  };
  return prepared as PreparedDependency & Dependency<Value, State>;
}
