/** Records the requests of an application, in a bounded memory. */
import { nodeAsyncHooks } from "../base/runtime.ts";
import { isGuard } from "../binding/levels.ts";
import { type PreparedDependency, spanNameOf } from "../binding/dependency.ts";
import { observeDependencies } from "../binding/resolver.ts";
import type { Opened } from "../http/after_response.ts";
import type { RequestContext } from "../http/context.ts";
import { contextOf, type HttpRequest } from "../http/request.ts";
import type { RouteInfo } from "../http/route_info.ts";
import { describeError, log, observeEntries } from "../log/log.ts";
import type { ErrorBoundary, Middleware } from "../routing/middleware.ts";
import type { MountInfo } from "../routing/mount.ts";
import type { PartKind, RequestRecorder } from "../routing/recorder.ts";
import { observePublishes } from "../topics/publisher.ts";
import { Recording } from "./recording.ts";
import { RequestPoints, RouteStatistics } from "./statistics.ts";

export const MAX_REQUESTS = 500;
export const MAX_BYTES: number = 5 * 1024 * 1024;
/**
 * How many requests are recorded with their parts in each second, and at once. Others are counted,
 * and listed if they fail: a recording costs more than a small request.
 */
const RATE = 100;
const BURST = 100;
/** Of those that are counted, one of so many is measured. */
const MEASURED = 8;

interface Recordings {
  getStore(): Recording | undefined;
  run<Result>(recording: Recording, run: () => Result): Result;
}

/** The request of the running code, for all applications of the process. */
let recordings: Recordings | undefined;
/** How many recorders are open: the last one removes the observers. */
let open = 0;

export interface RecorderOptions {
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
  #version = 0;
  #number = 0;
  #bytes = 0;
  /** How many requests may be recorded with their parts. */
  #tokens = BURST;
  #refilledAt = 0;
  #counted = 0;
  #hasWarned = false;
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
    return this.#bytes;
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
    recordWorkAfter(context, recording);
    context.isRecorded = true;
    return this.#current.run(recording, run).then((response) => {
      const duration = performance.now() - begin;
      this.#now = Date.now();
      this.#finish(recording, response, duration);
      this.#measure(route, response, duration);
      return response;
    });
  }

  takes(): boolean {
    // Where the clock is a system call, it costs as much as a tenth of a request.
    if (this.#tokens < 1 && this.#counted % MEASURED !== 0) return false;
    const now = this.#now = Date.now();
    this.#tokens = Math.min(BURST, this.#tokens + (now - this.#refilledAt) / 1_000 * RATE);
    this.#refilledAt = now;
    if (this.#tokens < 1) return false;
    this.#tokens -= 1;
    return true;
  }

  /** Records the next request with its parts, whatever the load is. */
  demand(): void {
    this.#tokens = Math.max(1, this.#tokens);
  }

  /** It is listed if it fails. */
  count(context: RequestContext, route: RouteInfo | null, run: () => Promise<Response>): Promise<Response> {
    const begin = this.#counted++ % MEASURED === 0 ? performance.now() : undefined;
    return run().then((response) => {
      if (begin !== undefined) this.#now = Date.now();
      const duration = begin === undefined ? undefined : performance.now() - begin;
      this.#measure(route, response, duration);
      if (response.status < 500) return response;
      const recording = this.#add(context, route, begin ?? performance.now());
      recording.thrown = this.#thrown.get(context);
      this.#finish(recording, response, duration);
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
      recordWorkAfter(context, recording);
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
    const { keepsSecrets } = this.#options;
    const recording = new Recording(++this.#number, context, route, begin, keepsSecrets, this.#onGrowth);
    this.#recordings.set(recording.number, recording);
    this.#bytes += recording.bytes;
    this.#numbers.set(context.raw, recording.number);
    if (this.#recordings.size > MAX_REQUESTS) this.#dropOldest();
    this.#touch(recording);
    return recording;
  }

  readonly #onGrowth = (recording: Recording, bytes: number): void => {
    // It may have been dropped while it ran.
    if (this.#recordings.get(recording.number) !== recording) return;
    this.#bytes += bytes;
    while (this.#bytes > MAX_BYTES && this.#recordings.size > 0) this.#dropOldest();
  };

  #finish(recording: Recording, response: Response, duration: number | undefined): void {
    try {
      recording.finish(response, duration);
    } catch (error) {
      // It must not change a reply.
      if (!this.#hasWarned) log("warn", "The board could not record a request", { error: describeError(error) });
      this.#hasWarned = true;
    }
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
      if (recording) {
        recording.thrown = thrown;
        return during(recording, "reply", "of an error", () => boundary(thrown, request));
      }
      for (const context of throughMounts(contextOf(request))) this.#thrown.set(context, thrown);
      return boundary(thrown, request);
    };
  }

  /** The newest first, of those that changed after a version. */
  changedSince(version: number): readonly Recording[] {
    return [...this.#recordings.values()].filter((recording) => recording.version > version).reverse();
  }

  find(number: number): Recording | undefined {
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

  #dropOldest(): void {
    for (const [number, { bytes }] of this.#recordings) {
      this.#recordings.delete(number);
      this.#bytes -= bytes;
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
    const kind = kindOf(dependency);
    const result = during(recording, kind, spanNameOf(dependency), run);
    // Of a guard that runs others, the one of them that accepted is the caller's.
    if (kind === "guard" && !dependency.inner) result.then(() => recording.addGuard(spanNameOf(dependency)), () => {});
    return result;
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

/** Also records the tasks after the reply, and the ends of dependencies. */
function recordWorkAfter(context: RequestContext, recording: Recording): void {
  const { addTask, addOpened } = context;
  context.addTask = (task, always) => {
    addTask.call(context, () => during(recording, "task", task.name || "task", task), always);
  };
  context.addOpened = (opened) => addOpened.call(context, recordedEnd(opened, recording));
}

function recordedEnd(opened: Opened, recording: Recording): Opened {
  const { name, endsWithHandler } = opened;
  let hasEnded = false;
  const once = <Result>(end: () => Promise<Result>): Promise<Result> => {
    if (hasEnded) return end();
    hasEnded = true;
    return during(recording, "dependency", `${name}, its end`, end);
  };
  return {
    name,
    endsWithHandler,
    end: () => once(() => opened.end()),
    fail: (thrown) => once(() => opened.fail(thrown)),
  };
}
