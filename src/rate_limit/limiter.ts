/** The limiters of an application: they count requests, and refuse those beyond a limit. */
import { Lazy, load } from "../base/async_context.ts";
import { HTTPError } from "../base/errors.ts";
import { contextOf, type HttpRequest } from "../http/request.ts";
import { quote } from "../base/options.ts";
import type { Records } from "../store/records.ts";
import type { WorkerPorts } from "../store/memory/worker_store.ts";
import type { Count, CountedLimit, Counts, MemoryCounts } from "./counts.ts";
import type { DeclaredLimit, RateLimitKey, SharedLimiter } from "./rate_limit.ts";
import type { SharedCounts } from "./shared_counts.ts";

/** Longer callers are hashed, so that the size of a count is bounded. */
const MAX_CALLER = 128;

/** Where a limit counts; undefined for the memory of the process. */
type LimitStore = SharedLimiter | "records" | undefined;

/** The limits of an application. Each declaration has one limiter, and so one count. */
export class RateLimiters {
  readonly #defaultStore: DeclaredLimit["store"];
  readonly #limiters = new Map<DeclaredLimit, RateLimiter>();
  readonly #memory = new Lazy(async () => {
    const { MemoryCounts } = await load(() => import("./counts.ts"));
    return new MemoryCounts();
  });
  /** The counts of the first worker; undefined there. */
  #remote: Counts | undefined;

  /** `defaultStore` is for limits without a store of their own. */
  constructor(defaultStore: DeclaredLimit["store"]) {
    this.#defaultStore = defaultStore;
  }

  /** New limiters, which count apart from these. */
  renew(): RateLimiters {
    return new RateLimiters(this.#defaultStore);
  }

  /**
   * @param place The first route of the declaration, and its number there: the same in all
   * processes.
   * @throws {TypeError} If its `store` makes no limiter.
   */
  limiterOf(limit: DeclaredLimit, place: string): RateLimiter {
    let limiter = this.#limiters.get(limit);
    if (!limiter) {
      const store = openStore(limit, this.#defaultStore, place);
      const open = (records: Records) => this.#countsOf(store, place, records);
      limiter = new RateLimiter(limit, this.#limiters.size, open);
      this.#limiters.set(limit, limiter);
    }
    return limiter;
  }

  /** All workers count in the first one from now on. The ports must not have started. */
  async shareWith(ports: WorkerPorts): Promise<void> {
    if (this.#limiters.size === 0) return;
    const { RemoteCounts, serveCounts } = await load(() => import("./counts.ts"));
    if ("guests" in ports) {
      const memory = await this.#memory.use();
      for (const port of ports.guests) serveCounts(memory, port);
      return;
    }
    this.#remote = new RemoteCounts(ports.host);
    for (const limiter of this.#limiters.values()) limiter.reopen();
  }

  async #countsOf(store: LimitStore, place: string, records: Records): Promise<MemoryCounts | SharedCounts> {
    if (store === undefined && !this.#remote) return await this.#memory.use();
    const { LimiterCounts, SharedCounts } = await load(() => import("./shared_counts.ts"));
    if (store === undefined) return new SharedCounts(this.#remote!, place);
    if (store !== "records") return new SharedCounts(new LimiterCounts(store, `${place}:`), place);
    const { RecordCounts } = await load(() => import("./record_counts.ts"));
    return new SharedCounts(new RecordCounts(records, boundedCaller(place)), place);
  }
}

/** Counts the requests of one declaration. */
export class RateLimiter {
  readonly #declared: DeclaredLimit;
  readonly #limit: CountedLimit;
  readonly #name: string;
  readonly #policy: string;
  readonly #open: (records: Records) => Promise<MemoryCounts | SharedCounts>;
  #counts: MemoryCounts | SharedCounts | undefined;
  #opening: Lazy<MemoryCounts | SharedCounts> | undefined;

  constructor(
    declared: DeclaredLimit,
    number: number,
    open: (records: Records) => Promise<MemoryCounts | SharedCounts>,
  ) {
    const { limit, perMs } = declared;
    this.#declared = declared;
    this.#limit = { number, limit, perMs };
    this.#name = `"${number + 1}"`;
    this.#policy = `${this.#name};q=${limit};w=${toSeconds(perMs)}`;
    this.#open = open;
  }

  reopen(): void {
    this.#counts = this.#opening = undefined;
  }

  /** Counts by the address or the function in `by`. Throws an `HTTPError` with 429. */
  check(request: HttpRequest): Promise<void> | undefined {
    const { by } = this.#declared;
    if (by) return this.#count(request, by(request));
    const { proxies } = contextOf(request);
    proxies.warnOfUnknown(request.raw.headers);
    const address = request.remoteAddress;
    return address === null ? undefined : this.#count(request, networkOf(address));
  }

  /** Counts by the value of the dependency in `by`. Throws an `HTTPError` with 429. */
  checkValue(request: HttpRequest, value: unknown): Promise<void> | undefined {
    return this.#count(request, this.#declared.after!.key(value));
  }

  #count(request: HttpRequest, caller: RateLimitKey): Promise<void> | undefined {
    if (caller === null || this.#hasCounted(request)) return undefined;
    if (typeof caller !== "string" && typeof caller !== "number") {
      throw new TypeError(
        `Cannot count the request: the caller must be a string, a number or null, got ${quote(caller)}`,
      );
    }
    const bounded = boundedCaller(caller);
    if (!this.#counts?.isLocal || typeof bounded !== "string") return this.#countLater(request, bounded);
    this.#settle(request, this.#counts.count(this.#limit, bounded));
    return undefined;
  }

  /** The call of an agent that the request belongs to was counted before. */
  #hasCounted(request: HttpRequest): boolean {
    const { call } = contextOf(request);
    if (!call) return false;
    const hasCounted = call.countedBy.has(this);
    call.countedBy.add(this);
    return hasCounted;
  }

  async #countLater(request: HttpRequest, bounded: string | Promise<string>): Promise<void> {
    const caller = await bounded;
    const { app, connection } = contextOf(request);
    const counts = this.#counts ?? await this.#openCounts(app.records);
    const count = counts.isLocal
      ? counts.count(this.#limit, caller)
      : await counts.count(this.#limit, caller, connection !== undefined);
    if (count) this.#settle(request, count);
  }

  async #openCounts(records: Records): Promise<MemoryCounts | SharedCounts> {
    for (;;) {
      const opening = this.#opening ??= new Lazy(() => this.#open(records));
      const counts = await opening.use();
      // Workers may have begun to share meanwhile: then the request counts there.
      if (this.#opening === opening) return this.#counts = counts;
    }
  }

  /** Adds the header fields of draft-ietf-httpapi-ratelimit-headers-10, and refuses beyond. */
  #settle(request: HttpRequest, { isRefused, remaining, resetMs }: Count): void {
    const seconds = toSeconds(resetMs);
    const rest = `${this.#name};r=${remaining};t=${seconds}`;
    contextOf(request).reply.setRateLimit(this.#policy, rest);
    if (!isRefused) return;
    throw new HTTPError(429, `Too many requests: try again in ${seconds} s`, {
      headers: { "retry-after": String(seconds) },
    });
  }
}

function openStore(
  { store, limit, perMs }: DeclaredLimit,
  defaultStore: DeclaredLimit["store"],
  place: string,
): LimitStore {
  const chosen = store ?? defaultStore;
  if (typeof chosen !== "function") return chosen;
  const limiter: Partial<SharedLimiter> | undefined = chosen(limit, perMs);
  if (typeof limiter?.consume === "function") return limiter as SharedLimiter;
  throw new TypeError(
    `Cannot count the requests of ${place}: "store" must return a limiter of rate-limiter-flexible, got ${
      quote(limiter)
    }`,
  );
}

/** Whole seconds, rounded up: with less, a client would return too early. */
function toSeconds(ms: number): number {
  return Math.max(1, Math.ceil(ms / 1000));
}

/**
 * An IPv4 address itself, also where it is mapped to IPv6; of an IPv6 address its `/64` network,
 * because a single client has one for itself (RFC 6177).
 */
export function networkOf(address: string): string {
  if (!address.includes(":")) return address;
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(address)?.[1];
  if (mapped !== undefined) return mapped;
  const groups = groupsOf(address);
  const [sixth = 0, seventh = 0, eighth = 0] = groups.slice(5);
  if (sixth === 0xffff && groups.slice(0, 5).every((group) => group === 0)) {
    return [seventh >> 8, seventh & 255, eighth >> 8, eighth & 255].join(".");
  }
  return groups.slice(0, 4).map((group) => group.toString(16)).join(":");
}

/** The eight groups of a valid address, without its zone. */
function groupsOf(address: string): number[] {
  const [text = ""] = address.split("%", 1);
  const [head = [], tail] = text.split("::", 2).map(readGroups);
  if (tail === undefined) return head;
  const zeros = new Array<number>(Math.max(0, 8 - head.length - tail.length)).fill(0);
  return [...head, ...zeros, ...tail];
}

function readGroups(text: string): number[] {
  if (text === "") return [];
  return text.split(":").flatMap((group) => {
    if (!group.includes(".")) return [parseInt(group, 16)];
    const [a = 0, b = 0, c = 0, d = 0] = group.split(".").map(Number);
    return [a << 8 | b, c << 8 | d];
  });
}

export function boundedCaller(caller: string | number): string | Promise<string> {
  const text = String(caller);
  return text.length <= MAX_CALLER ? text : hash(text);
}

async function hash(text: string): Promise<string> {
  const { contentHash } = await load(() => import("../http/files/conditional.ts"));
  return `sha256:${await contentHash(text)}`;
}
