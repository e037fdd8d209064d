/** The limits of an application. What counts is loaded with the first request that is counted. */
import { load } from "../base/async_context.ts";
import type { HttpRequest } from "../http/request.ts";
import { quote } from "../base/options.ts";
import type { WorkerPorts } from "../store/memory/worker_store.ts";
import type { GateParts, OpenGate, OpenGates } from "./open_gate.ts";
import type { RateLimiter } from "./rate_limit.ts";
import type { SharedLimiter } from "./shared_counts.ts";

/** The limits of an application. Each declaration has one gate, and so one count. */
export class RateGates {
  readonly #defaultStore: RateLimiter["store"];
  readonly #gates = new Map<RateLimiter, RateGate>();
  #opening: Promise<OpenGates> | undefined;

  /** @param defaultStore Where limits count that have no store of their own. */
  constructor(defaultStore: RateLimiter["store"]) {
    this.#defaultStore = defaultStore;
  }

  /**
   * The gate of a declaration.
   *
   * @param limiter The declaration.
   * @param place Where it stands: the first route that it holds for, and its number there. Other
   * processes with the same program give the same one.
   * @throws {TypeError} If its `store` makes no limiter.
   */
  gateOf(limiter: RateLimiter, place: string): RateGate {
    let gate = this.#gates.get(limiter);
    if (!gate) {
      const shared = storeOf(limiter, this.#defaultStore, place);
      const parts: GateParts = { limiter, number: this.#gates.size, place, shared };
      this.#gates.set(limiter, gate = new RateGate(parts, () => this.#open()));
    }
    return gate;
  }

  /** Counts with the other workers of the process from now on: what is in memory is kept once. */
  async shareWith(ports: WorkerPorts): Promise<void> {
    if (this.#gates.size > 0) await (await this.#open()).shareWith(ports);
  }

  #open(): Promise<OpenGates> {
    return this.#opening ??= load(() => import("./open_gate.ts")).then(({ OpenGates }) => new OpenGates());
  }
}

/** Counts the requests of one declaration. */
export class RateGate {
  readonly #parts: GateParts;
  readonly #openAll: () => Promise<OpenGates>;
  #opened: OpenGate | undefined;

  constructor(parts: GateParts, openAll: () => Promise<OpenGates>) {
    this.#parts = parts;
    this.#openAll = openAll;
  }

  /**
   * Counts a request by its address, or by the function in `by`.
   *
   * @throws {HTTPError} With 429.
   */
  check(request: HttpRequest): Promise<void> | undefined {
    return this.#opened ? this.#opened.check(request) : this.#open().then((gate) => gate.check(request));
  }

  /**
   * Counts a request by the value of the dependency in `by`.
   *
   * @throws {HTTPError} With 429.
   */
  checkValue(request: HttpRequest, value: unknown): Promise<void> | undefined {
    return this.#opened
      ? this.#opened.checkValue(request, value)
      : this.#open().then((gate) => gate.checkValue(request, value));
  }

  async #open(): Promise<OpenGate> {
    return this.#opened = (await this.#openAll()).gateOf(this.#parts);
  }
}

function storeOf(
  { store, limit, perMs }: RateLimiter,
  defaultStore: RateLimiter["store"],
  place: string,
): GateParts["shared"] {
  const chosen = store ?? defaultStore;
  if (typeof chosen !== "function") return chosen;
  const limiter: Partial<SharedLimiter> | undefined = chosen(limit, perMs);
  if (typeof limiter?.consume === "function") return limiter as SharedLimiter;
  throw new TypeError(
    `Cannot count the requests of ${place}: "store" must give a limiter of rate-limiter-flexible, got ${
      quote(limiter)
    }`,
  );
}
