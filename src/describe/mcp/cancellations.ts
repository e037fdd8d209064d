/** Calls of agents in progress, and their cancellation by another request. */
import { credentialsThrough } from "../../binding/guard.ts";
import type { PreparedDependency } from "../../binding/dependency.ts";
import type { HttpRequest } from "../../http/request.ts";
import type { Route } from "../../routing/route.ts";
import { securityOf } from "../route/inputs.ts";

export interface CancellableCall {
  readonly signal: AbortSignal;
  /** Must be called at the end of the call. */
  readonly end: () => void;
}

/**
 * The endpoint has no sessions, and many clients use the same ids. So a cancellation needs the id,
 * credentials and address of the call; without credentials, or if two calls match, it is ignored.
 */
export class Cancellations {
  /** The guards that declare `security`. */
  readonly #guardsOf: ReadonlyMap<Route, readonly PreparedDependency[]>;
  /** Of all tools, because a cancellation names no tool. */
  readonly #guards: readonly PreparedDependency[];
  readonly #calls = new Map<string, Set<AbortController>>();

  constructor(tools: Iterable<Route>) {
    this.#guardsOf = new Map(Array.from(tools, (tool) => [tool, securityOf(tool)]));
    this.#guards = [...new Set([...this.#guardsOf.values()].flat())];
  }

  /** Undefined if the call cannot be cancelled. */
  begin(caller: HttpRequest, tool: Route, id: unknown): CancellableCall | undefined {
    // Credentials that no guard of the tool checks prove nothing.
    const guards = this.#guardsOf.get(tool) ?? [];
    if (!isId(id) || !guards.some((guard) => credentialsThrough(guard, caller).length > 0)) return undefined;
    const key = this.#keyOf(caller, id);
    const controller = new AbortController();
    const calls = this.#calls.get(key) ?? new Set();
    this.#calls.set(key, calls.add(controller));
    const end = () => {
      calls.delete(controller);
      if (calls.size === 0 && this.#calls.get(key) === calls) this.#calls.delete(key);
    };
    return { signal: controller.signal, end };
  }

  /** Aborts the call that a cancellation names, if exactly one matches. */
  cancel(message: unknown, caller: HttpRequest): void {
    const { method, params } = (message ?? {}) as { readonly method?: unknown; readonly params?: unknown };
    if (method !== "notifications/cancelled" || this.#calls.size === 0) return;
    const { requestId } = (params ?? {}) as { readonly requestId?: unknown };
    if (!isId(requestId)) return;
    const [call, ...others] = this.#calls.get(this.#keyOf(caller, requestId)) ?? [];
    if (others.length === 0) call?.abort(new DOMException("The agent has cancelled the call", "AbortError"));
  }

  #keyOf(caller: HttpRequest, id: string | number): string {
    const credentials = this.#guards.map((guard) => credentialsThrough(guard, caller));
    return JSON.stringify([id, caller.remoteAddress, credentials]);
  }
}

function isId(id: unknown): id is string | number {
  return typeof id === "string" || typeof id === "number";
}
