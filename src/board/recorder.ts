/** Records the requests of an application, in a bounded memory. */
import { nodeAsyncHooks } from "../base/runtime.ts";
import { isGuard } from "../binding/levels.ts";
import { type PreparedDependency, spanNameOf, withNeeded } from "../binding/dependency.ts";
import { observeDependencies } from "../binding/resolver.ts";
import type { RequestContext } from "../http/context.ts";
import { contextOf, type HttpRequest } from "../http/request.ts";
import type { RouteInfo } from "../http/route_info.ts";
import { observeEntries } from "../log/log.ts";
import type { ErrorBoundary, Middleware } from "../routing/middleware.ts";
import type { MountInfo } from "../routing/mount.ts";
import type { PartKind, RequestRecorder } from "../routing/recorder.ts";
import { type AnyRoute, neededBy } from "../routing/registry.ts";
import { observePublishes } from "../topics/publisher.ts";
import { Recording } from "./recording.ts";
import { RequestPoints, RouteStatistics } from "./statistics.ts";

export const MAX_REQUESTS = 500;
export const MAX_BYTES: number = 5 * 1024 * 1024;
/**
 * How many requests are recorded with their parts in each second, and at once. Others are counted,
 * and listed if they fail: a recording costs the garbage collector more than the request.
 */
const RATE = 100;
const BURST = 100;
/** Of those that are counted, one of so many is measured. */
const MEASURED = 8;
/** How long requests stay unread, in milliseconds: most are gone then, and cost nothing more. */
const SETTLE_AFTER = 500;

interface Recordings {
  getStore(): Recording | undefined;
  run<Result>(recording: Recording, run: () => Result): Result;
}

/** The request of the running code, for all applications of the process. */
let recordings: Recordings | undefined;
/** How many recorders are open: the last one removes the observers. */
let open = 0;

export interface RecorderOptions {
  readonly routes: () => readonly AnyRoute[];
  /** Whether requests stay as they were sent, to send them again. */
  readonly keepsSecrets: boolean;
}

export class Recorder implements RequestRecorder {
  /** In milliseconds since 1970. */
  readonly begin: number = Date.now();
  readonly points: RequestPoints = new RequestPoints();
  readonly #options: RecorderOptions;
  readonly #recordings = new Map<number, Recording>();
  readonly #routes = new Map<RouteInfo, RouteStatistics>();
  readonly #current: Recordings;
  #secretHeaders: ReadonlySet<string> | undefined;
  #version = 0;
  #settledAt = 0;
  #firstUnsettled = 1;
  #number = 0;
  /** How many requests may be recorded with their parts. */
  #tokens = BURST;
  #refilledAt = 0;
  #counted = 0;
  /** When the clock was read last, in milliseconds since 1970. */
  #now = 0;
  /** What became an error reply, of requests that are only counted. */
  readonly #thrown = new WeakMap<RequestContext, unknown>();
  readonly #numbers = new WeakMap<Request, number>();
  /** Resolved at the next change. */
  #change: PromiseWithResolvers<void> | undefined;

  constructor(options: RecorderOptions) {
    this.#options = options;
    this.#current = recordings ??= new (nodeAsyncHooks().AsyncLocalStorage)<Recording>();
    if (++open === 1) observe(this.#current);
  }

  close(): void {
    this.#recordings.clear();
    if (--open > 0) return;
    observeEntries(undefined);
    observeDependencies(undefined);
    observePublishes(undefined);
  }

  /** The bytes that it keeps, as estimated. */
  get bytes(): number {
    let bytes = 0;
    for (const recording of this.#recordings.values()) bytes += recording.bytes;
    return bytes;
  }

  /** The headers of declared API keys, in lower case. */
  get secretHeaders(): ReadonlySet<string> {
    return this.#secretHeaders ??= new Set(keyHeadersOf(neededBy(this.#options.routes())));
  }

  /** The number of the oldest request that it keeps. */
  get oldest(): number {
    for (const number of this.#recordings.keys()) return number;
    return this.#number + 1;
  }

  get version(): number {
    return this.#version;
  }

  record(
    context: RequestContext,
    _request: HttpRequest,
    route: RouteInfo | null,
    run: () => Promise<Response>,
  ): Promise<Response> {
    const begin = performance.now();
    const recording = this.#add(context, route, begin);
    recordTasks(context, recording);
    context.isRecorded = true;
    return this.#current.run(recording, run).then((response) => {
      this.#finish(recording, response, performance.now() - begin);
      this.#measure(route, response, recording.duration!);
      return response;
    });
  }

  takes(): boolean {
    // Where the clock is a system call, it costs as much as a tenth of a request.
    if (this.#tokens < 1 && this.#counted % MEASURED !== 0) return false;
    const now = this.#now = Date.now();
    if (now - this.#settledAt > SETTLE_AFTER) this.#settle(now);
    this.#tokens = Math.min(BURST, this.#tokens + (now - this.#refilledAt) / 1_000 * RATE);
    this.#refilledAt = now;
    if (this.#tokens < 1) return false;
    this.#tokens -= 1;
    return true;
  }

  /** It is listed if it fails. */
  count(context: RequestContext, route: RouteInfo | null, run: () => Promise<Response>): Promise<Response> {
    const begin = this.#counted++ % MEASURED === 0 ? performance.now() : undefined;
    return run().then((response) => {
      this.#measure(route, response, begin === undefined ? undefined : performance.now() - begin);
      if (response.status < 500) return response;
      const end = performance.now();
      const recording = this.#add(context, route, begin ?? end);
      recording.thrown = this.#thrown.get(context);
      this.#finish(recording, response, begin === undefined ? undefined : end - begin);
      return response;
    });
  }

  /** Of a mounted application, whose requests are parts of those that this recorder takes. */
  readonly mounted: RequestRecorder = {
    takes: () => this.#current.getStore() !== undefined,
    count: (_context, route, run) => this.#countOf(route, this.#counted % MEASURED === 1, run),
    record: (context, _request, route, run) => {
      const recording = this.#current.getStore()!;
      if (route) recording.enter(route);
      recordTasks(context, recording);
      context.isRecorded = true;
      return this.#countOf(route, true, run);
    },
    step: (...step) => this.step(...step),
    middleware: (middleware) => this.middleware(middleware),
    errors: (boundary) => this.errors(boundary),
  };

  /** Counts a request for its route alone. */
  #countOf(route: RouteInfo | null, isMeasured: boolean, run: () => Promise<Response>): Promise<Response> {
    if (!route) return run();
    const begin = isMeasured ? performance.now() : undefined;
    return run().then((response) => {
      this.#statisticsOf(route).add(response.status, begin === undefined ? undefined : performance.now() - begin);
      return response;
    });
  }

  #add(context: RequestContext, route: RouteInfo | null, begin: number): Recording {
    // After the reply, Deno (2.9) has them only if they were read before.
    void context.raw.headers;
    const recording = new Recording(++this.#number, context, route, begin, this.#options.keepsSecrets);
    this.#recordings.set(recording.number, recording);
    this.#numbers.set(context.raw, recording.number);
    if (this.#recordings.size > MAX_REQUESTS) this.#dropOldest();
    this.#touch(recording);
    return recording;
  }

  #finish(recording: Recording, response: Response, duration: number | undefined): void {
    recording.finish(response, duration);
    this.#touch(recording);
  }

  #measure(route: RouteInfo | null, { status }: Response, duration: number | undefined): void {
    this.points.add(this.#now, status, duration);
    if (route) this.#statisticsOf(route).add(status, duration);
  }

  step<Step extends (...args: never[]) => unknown>(kind: PartKind, name: string, run: Step): Step {
    const current = this.#current;
    const recorded = (...args: never[]): unknown => {
      const recording = current.getStore();
      return recording ? during(recording, kind, name, () => run(...args)) : run(...args);
    };
    return recorded as Step;
  }

  middleware(middleware: Middleware): Middleware {
    const name = middleware.name === "" ? "middleware" : middleware.name;
    return Object.defineProperty(this.step("middleware", name, middleware), "name", { value: middleware.name });
  }

  errors(boundary: ErrorBoundary): ErrorBoundary {
    return (thrown, request) => {
      const recording = this.#current.getStore();
      if (recording) recording.thrown = thrown;
      else for (const context of throughMounts(contextOf(request))) this.#thrown.set(context, thrown);
      return boundary(thrown, request);
    };
  }

  /** The newest first, of those that changed after a version. */
  changedSince(version: number): readonly Recording[] {
    this.#settle(Date.now());
    return [...this.#recordings.values()].filter((recording) => recording.version > version).reverse();
  }

  find(number: number): Recording | undefined {
    this.#settle(Date.now());
    return this.#recordings.get(number);
  }

  /** Undefined if the request was only counted. */
  numberOf(request: Request): number | undefined {
    return this.#numbers.get(request);
  }

  statisticsOf(route: RouteInfo): RouteStatistics | undefined {
    return this.#routes.get(route);
  }

  /** Resolves at the next change. */
  changed(): Promise<void> {
    return (this.#change ??= Promise.withResolvers()).promise;
  }

  #statisticsOf(route: RouteInfo): RouteStatistics {
    let statistics = this.#routes.get(route);
    if (!statistics) this.#routes.set(route, statistics = new RouteStatistics());
    return statistics;
  }

  #touch(recording: Recording): void {
    recording.version = ++this.#version;
    if (!this.#change) return;
    this.#change.resolve();
    this.#change = undefined;
  }

  /** Reads what is finished, and drops the oldest beyond the bound of memory. */
  #settle(now: number): void {
    this.#settledAt = now;
    for (const [number, recording] of this.#recordings) {
      if (number < this.#firstUnsettled && recording.isSettled) continue;
      if (recording.isFinished) recording.settle(this.secretHeaders);
    }
    this.#firstUnsettled = this.#number;
    let bytes = this.bytes;
    for (const [number, recording] of this.#recordings) {
      if (bytes <= MAX_BYTES) break;
      bytes -= recording.bytes;
      this.#recordings.delete(number);
    }
  }

  #dropOldest(): void {
    for (const number of this.#recordings.keys()) {
      this.#recordings.delete(number);
      return;
    }
  }
}

/** The context of a request, and those of the applications that mount this one. */
function* throughMounts(inner: RequestContext): Generator<RequestContext> {
  for (let context: RequestContext | undefined = inner; context;) {
    yield context;
    const outer: HttpRequest | undefined = (context.connection as Partial<MountInfo> | undefined)?.request;
    context = outer && contextOf(outer);
  }
}

function observe(current: Recordings): void {
  observeEntries((entry) => current.getStore()?.addEntry(entry));
  observePublishes((topic, { bytes }, result) => current.getStore()?.addPublished(topic, bytes, result));
  observeDependencies((dependency, run) => {
    const recording = current.getStore();
    if (!recording) return run();
    return during(recording, kindOf(dependency), spanNameOf(dependency), run);
  });
}

const kinds = new WeakMap<PreparedDependency, PartKind>();

function kindOf(dependency: PreparedDependency): PartKind {
  let kind = kinds.get(dependency);
  if (!kind) kinds.set(dependency, kind = isGuard(dependency) ? "guard" : "dependency");
  return kind;
}

/** Runs a part of a request, sync or async. */
function during<Result>(recording: Recording, kind: PartKind, name: string, run: () => Result): Result {
  const part = recording.beginPart(kind, name);
  let result: Result;
  try {
    result = run();
  } catch (thrown) {
    recording.endPart(part, true);
    throw thrown;
  }
  if (result instanceof Promise) {
    result.then(() => recording.endPart(part, false), () => recording.endPart(part, true));
  } else recording.endPart(part, false);
  return result;
}

/** Also records the tasks after the reply. */
function recordTasks(context: RequestContext, recording: Recording): void {
  const { addTask } = context;
  context.addTask = (task, always) => {
    addTask.call(context, () => during(recording, "task", task.name || "task", task), always);
  };
}

function keyHeadersOf(dependencies: Iterable<PreparedDependency>): string[] {
  return [...withNeeded<PreparedDependency>(dependencies)].flatMap(({ security }) => {
    return security.flatMap((way) => [...way.values()]).flatMap(({ scheme }) => {
      return scheme.type === "apiKey" && scheme.in === "header" ? [scheme.name.toLowerCase()] : [];
    });
  });
}
