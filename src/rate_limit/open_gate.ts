/** The limits of an application at work: they count requests, and refuse those beyond. */
import { load } from "../base/async_context.ts";
import { HTTPError } from "../base/errors.ts";
import { contextOf, type HttpRequest } from "../http/request.ts";
import { quote } from "../base/options.ts";
import type { WorkerPorts } from "../store/memory/worker_store.ts";
import { boundedCaller, networkOf } from "./caller.ts";
import { type Count, type CountedLimit, type Counts, MemoryCounts } from "./counts.ts";
import type { RateLimiter, RateLimitKey } from "./rate_limit.ts";
import { RecordCounts } from "./record_counts.ts";
import { LimiterCounts, SharedCounts, type SharedLimiter } from "./shared_counts.ts";

/** A limit and its place in an application. */
export interface GateParts {
  readonly limiter: RateLimiter;
  /** Which limit of the application it is, from 0 on. */
  readonly number: number;
  /** The first route that it holds for, and its number there. */
  readonly place: string;
  /** Where it is counted; undefined for the memory. */
  readonly shared: SharedLimiter | "records" | undefined;
}

/** The gates of an application that have counted. */
export class OpenGates {
  readonly #memory = new MemoryCounts();
  readonly #gates = new Map<GateParts, OpenGate>();
  /** The counts of all workers, if another worker has them. */
  #remote: Counts | undefined;

  /** The gate of a limit, always the same one. */
  gateOf(parts: GateParts): OpenGate {
    let gate = this.#gates.get(parts);
    if (!gate) {
      this.#gates.set(parts, gate = new OpenGate(parts, this.#memory));
      if (this.#remote) gate.countIn(this.#remote);
    }
    return gate;
  }

  /** Counts with the other workers of the process from now on: what is in memory is kept once. */
  async shareWith(ports: WorkerPorts): Promise<void> {
    const { RemoteCounts, serveCounts } = await load(() => import("./worker_counts.ts"));
    if ("guests" in ports) {
      for (const port of ports.guests) serveCounts(this.#memory, port);
      return;
    }
    this.#remote = new RemoteCounts(ports.host);
    for (const gate of this.#gates.values()) gate.countIn(this.#remote);
  }
}

/** Counts the requests of one declaration. */
export class OpenGate {
  readonly #limiter: RateLimiter;
  readonly #counted: CountedLimit;
  readonly #memory: MemoryCounts;
  /** Undefined if the requests are counted in memory, and before the first one in records. */
  #shared: SharedCounts | undefined;
  readonly #usesRecords: boolean;
  readonly #place: string;
  /** Names the limit in headers. */
  readonly #name: string;
  readonly #policy: string;

  constructor({ limiter, number, place, shared }: GateParts, memory: MemoryCounts) {
    const { limit, perMs } = limiter;
    this.#limiter = limiter;
    this.#counted = { number, limit, perMs };
    this.#memory = memory;
    this.#usesRecords = shared === "records";
    if (shared && shared !== "records") {
      this.#shared = new SharedCounts(new LimiterCounts(shared, `${place}:`), place);
    }
    this.#place = place;
    this.#name = `"${number + 1}"`;
    this.#policy = `${this.#name};q=${limit};w=${toSeconds(perMs)}`;
  }

  /** Counts in another place than the memory of this worker, unless it has a store of its own. */
  countIn(counts: Counts): void {
    if (!this.#usesRecords) this.#shared ??= new SharedCounts(counts, this.#place);
  }

  /**
   * Counts a request by its address, or by the function in `by`.
   *
   * @throws {HTTPError} With 429.
   */
  check(request: HttpRequest): Promise<void> | undefined {
    const { by } = this.#limiter;
    if (by) return this.#count(request, by(request));
    const { proxies } = contextOf(request);
    proxies.warnOfUnknown(request.raw.headers);
    const address = request.remoteAddress;
    return address === null ? undefined : this.#count(request, networkOf(address));
  }

  /**
   * Counts a request by the value of the dependency in `by`.
   *
   * @throws {HTTPError} With 429.
   */
  checkValue(request: HttpRequest, value: unknown): Promise<void> | undefined {
    return this.#count(request, this.#limiter.after!.key(value));
  }

  #count(request: HttpRequest, caller: RateLimitKey): Promise<void> | undefined {
    if (caller === null || this.#hasCounted(request)) return undefined;
    if (typeof caller !== "string" && typeof caller !== "number") {
      throw new TypeError(
        `Cannot count the request: the caller must be a text, a number or null, got ${quote(caller)}`,
      );
    }
    const bounded = boundedCaller(caller);
    if (this.#usesRecords) {
      const { records } = contextOf(request).app;
      this.#shared ??= new SharedCounts(new RecordCounts(records, this.#place), this.#place);
    }
    if (this.#shared || typeof bounded !== "string") return this.#countLater(request, bounded);
    this.#settle(request, this.#memory.count(this.#counted, bounded));
    return undefined;
  }

  /** Whether the call of an agent that the request belongs to was counted before. */
  #hasCounted(request: HttpRequest): boolean {
    const { call } = contextOf(request);
    if (!call) return false;
    const hasCounted = call.countedBy.has(this);
    call.countedBy.add(this);
    return hasCounted;
  }

  async #countLater(request: HttpRequest, bounded: string | Promise<string>): Promise<void> {
    const caller = await bounded;
    if (!this.#shared) return this.#settle(request, this.#memory.count(this.#counted, caller));
    const isServed = contextOf(request).connection !== undefined;
    const count = await this.#shared.count(this.#counted, caller, isServed);
    if (count) this.#settle(request, count);
  }

  /** Tells the client of the limit: draft-ietf-httpapi-ratelimit-headers-10. */
  #settle(request: HttpRequest, { isRefused, remaining, resetMs }: Count): void {
    const seconds = toSeconds(resetMs);
    const rest = `${this.#name};r=${remaining};t=${seconds}`;
    const context = contextOf(request);
    const limits = context.rateLimit ??= [];
    const known = limits.find(({ policy }) => policy === this.#policy);
    if (known) known.rest = rest;
    else limits.push({ policy: this.#policy, rest });
    if (!isRefused) return;
    throw new HTTPError(429, `Too many requests: try again in ${seconds} s`, {
      headers: { "retry-after": String(seconds) },
    });
  }
}

/** Whole seconds, rounded up: before, a client would come too early. */
function toSeconds(ms: number): number {
  return Math.max(1, Math.ceil(ms / 1000));
}
