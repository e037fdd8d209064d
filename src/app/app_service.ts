/** An application from its first request or start to its stop, alone or mounted. */
import type { AppOptions } from "./app_options.ts";
import type { BoardHost } from "./board_host.ts";
import { load } from "../base/async_context.ts";
import type { PreparedDependency } from "../binding/dependency.ts";
import { hideKeys } from "../binding/guard.ts";
import { HTTPError, RouteError } from "../base/errors.ts";
import { stopReason } from "../base/service.ts";
import type { AppHandle } from "../http/app_handle.ts";
import type { ConnectionInfo, Fetch } from "../http/connection.ts";
import type { ResolvedLimits } from "../http/limits.ts";
import { releaseIdleTimer } from "../http/deadline.ts";
import { problemReply } from "../http/reply.ts";
import { Lifecycle } from "./lifecycle.ts";
import { logFor, setEntryReceiver } from "../log/log.ts";
import type { Overridable } from "./override.ts";
import { Readiness, reportFailedStart } from "../server/readiness.ts";
import { type BuiltInRoute, Dispatcher, type PrecheckParts } from "../routing/dispatch.ts";
import type { ErrorBoundary } from "../routing/middleware.ts";
import { type MountedApp, mountedApps, refuseMountInItself, type SharedWork } from "../routing/mount.ts";
import { type AnyRoute, foldersOf, neededBy, type Registry } from "../routing/registry.ts";
import type { ResourceMetadataHintOf } from "../routing/route.ts";
import type { RunOptions } from "../server/run_options.ts";
import { serve, type ServerTarget, stopWithDenoServe } from "../server/serve.ts";
import type { Topics } from "../topics/topics.ts";
import type { Crons } from "../work/cron/crons.ts";
import type { Webhooks } from "../webhooks/webhooks.ts";

/** How long handlers of consumers and crons may run after a stop without a server, in ms. */
const GRACE = 10_000;

interface AppServiceParts<App, State> {
  readonly app: App;
  readonly registry: Registry;
  readonly topics: Topics;
  readonly crons: Crons<State>;
  readonly webhooks: Webhooks;
  readonly precheck: PrecheckParts;
  readonly limits: ResolvedLimits;
  readonly log: AppOptions["log"];
  readonly readyUrl: string | null;
  readonly builtIns: readonly BuiltInRoute[];
  readonly board: BoardHost;
  readonly endpointsFor: (routes: readonly AnyRoute[]) => readonly BuiltInRoute[];
  readonly guardsOfPage: readonly PreparedDependency[];
  readonly metadataHint: ResourceMetadataHintOf;
  readonly errorBoundary: () => ErrorBoundary;
}

export class AppService<App extends AppHandle & { readonly fetch: Fetch }, State> {
  readonly lifecycle: Lifecycle<App, State>;
  /** Answers a request. The first one starts the application. */
  readonly fetch: Fetch;
  /** For a server. */
  readonly target: ServerTarget;
  /** For an application that mounts it. */
  readonly mounted: MountedApp;
  readonly #parts: AppServiceParts<App, State>;
  #dispatcher: Dispatcher | undefined;

  /** @throws {RouteError} With code `conflict`, if the path of the readiness is taken. */
  constructor(parts: AppServiceParts<App, State>) {
    const { app, registry, log, readyUrl } = parts;
    this.#parts = parts;
    this.lifecycle = new Lifecycle<App, State>({
      ...parts,
      openSockets: () => this.openSockets,
      mounted: () => this.#mountedHere,
    });
    const fetch: Fetch = (request, info) => {
      const dispatcher = this.dispatcher;
      const state = this.lifecycle.openState;
      if (state !== undefined) return dispatcher.dispatch(request, state, info);
      return this.#startAndAnswer(dispatcher, request, info);
    };
    this.target = this.#asTarget();
    const readiness = readyUrl === null ? undefined : new Readiness(readyUrl, this.target, this.lifecycle);
    if (readiness) registry.reserve([readiness]);
    const logged = log ? setEntryReceiver(app, log, fetch) : fetch;
    this.fetch = readiness?.before(logged) ?? logged;
    this.mounted = this.#asMounted();
  }

  get openSockets(): number {
    return this.#dispatcher?.openSockets.size ?? 0;
  }

  /**
   * Shows the board to clients on this machine.
   *
   * @throws {RouteError} With code `frozen`, if the application serves already; with code
   * `conflict`, if a route has the path.
   */
  showBoard(): string {
    if (this.hasBegun) throw new RouteError("frozen", "Cannot show the board: the application serves already");
    const { board, registry } = this.#parts;
    board.checkLocalPath(registry.routes);
    const path = board.showLocally();
    registry.reserve(board.localEndpoints(registry.scope.limiters));
    return path;
  }

  get hasBegun(): boolean {
    return this.#dispatcher !== undefined;
  }

  /** After the first use, nothing more can be declared. */
  get dispatcher(): Dispatcher {
    return this.#dispatcher ??= this.#createDispatcher();
  }

  /**
   * The state for a call of an agent, until the lifespans have ended.
   *
   * @throws {HTTPError} With 503 after that.
   */
  get stateForCall(): Readonly<State> {
    const { state } = this.lifecycle;
    if (state === undefined) throw new HTTPError(503, "The server stops");
    return state;
  }

  /**
   * Starts the application, once.
   *
   * @param routes Their dependencies and folders are prepared.
   */
  async start(
    routes: readonly AnyRoute[] = this.#parts.registry.routes,
    guardsOfPage: readonly PreparedDependency[] = this.#parts.guardsOfPage,
  ): Promise<void> {
    this.#checkMounts();
    await this.lifecycle.start([...neededBy(routes), ...guardsOfPage, ...foldersOf(routes)]);
  }

  async run(options: RunOptions): Promise<void> {
    const { app, topics, registry } = this.#parts;
    // Nothing more can be declared.
    void this.dispatcher;
    this.lifecycle.hasWorkers = options.workers !== undefined;
    this.lifecycle.isFirst = options.workers === undefined || "guests" in options.workers;
    if (options.workers) {
      const { openWorkerStore } = await load(() => import("../store/memory/worker_store.ts"));
      // The store starts the ports. A message that comes before the limits listen would be lost.
      await registry.scope.limiters.shareWith(options.workers);
      topics.use(openWorkerStore(options.workers));
      for (const inner of this.#mountedHere) inner.expectWorkers();
    }
    try {
      await logFor(app, () => serve(this.target, options));
    } finally {
      this.lifecycle.reopen();
    }
  }

  async stop(): Promise<void> {
    const abort = () => this.lifecycle.abort(stopReason(), "handlers");
    const timer = this.lifecycle.hasHandlers ? setTimeout(abort, GRACE) : undefined;
    try {
      await this.#drain();
      await this.#dispatcher?.background.done();
      await this.lifecycle.close();
    } finally {
      clearTimeout(timer);
      releaseIdleTimer();
      this.lifecycle.reopen();
    }
  }

  overridable(endpoints: Overridable["endpoints"]): Overridable {
    const { guardsOfPage, endpointsFor, registry } = this.#parts;
    return {
      guardsOfPage,
      dispatcher: () => this.dispatcher,
      endpoints: (...over) => [...endpoints(...over), ...endpointsFor(registry.routes)],
      start: (routes, guards) => this.start(routes, guards),
      answer: (dispatcher, request, info) => this.#startAndAnswer(dispatcher, request, info),
    };
  }

  /** Starts the application, unless it has started, and answers a request. */
  async #startAndAnswer(dispatcher: Dispatcher, request: Request, info?: ConnectionInfo): Promise<Response> {
    if (this.lifecycle.stopping.aborted) {
      const refusal = new HTTPError(503, "The server stops", { headers: { connection: "close" } });
      return dispatcher.withCors(request, problemReply(refusal));
    }
    try {
      // A stop may end the lifespans meanwhile.
      while (this.lifecycle.state === undefined) await this.start(dispatcher.routes);
    } catch (error) {
      reportFailedStart(error);
      return dispatcher.withCors(request, problemReply(new HTTPError(500)));
    }
    return dispatcher.dispatch(request, this.lifecycle.state, info);
  }

  get #mountedHere(): readonly MountedApp[] {
    return mountedApps(this.#parts.registry.routes);
  }

  /** Checks what may have changed since the mounts were declared. */
  #checkMounts(): void {
    refuseMountInItself(this.mounted);
    this.#checkSessions();
  }

  #checkSessions(): void {
    for (const app of this.#mountedHere) app.checkSessions();
    this.#parts.registry.addMountedSessions("serve the App");
  }

  #asTarget(): ServerTarget {
    const { app } = this.#parts;
    return {
      fetch: (request, info) => app.fetch(request, info),
      start: () => this.start(),
      drain: () => this.#drain(),
      abort: (reason) => this.lifecycle.abort(reason),
      close: () => this.lifecycle.close(),
      owner: app,
      background: () => this.#dispatcher?.background,
      hasBrokenSockets: () => this.#dispatcher?.openSockets.hasBroken ?? false,
      hasLostSockets: () => (this.#dispatcher?.openSockets.unopened ?? 0) > 0,
    };
  }

  #asMounted(): MountedApp {
    return {
      fetch: this.fetch,
      mounted: () => this.#mountedHere,
      sessionCookies: () => this.#parts.registry.sessionCookies,
      checkSessions: () => this.#checkSessions(),
      expectWorkers: () => {
        this.lifecycle.hasWorkers = true;
        for (const app of this.#mountedHere) app.expectWorkers();
      },
      join: (outer) => {
        this.#dispatcher ??= this.#createDispatcher(outer);
      },
      start: () => this.start(),
      drain: () => this.#drain(),
      abort: (...reason) => this.lifecycle.abort(...reason),
      close: () => this.lifecycle.close(),
      reopen: () => this.lifecycle.reopen(),
      receiveWebhooks: (receiver) => {
        this.#parts.webhooks.receiver = receiver;
        for (const app of this.#mountedHere) app.receiveWebhooks(receiver);
      },
      basePath: this.#parts.app.basePath,
      placesOf: (declared) => this.#parts.registry.placesOf(declared),
    };
  }

  async #drain(): Promise<void> {
    await Promise.all([this.lifecycle.drain(), this.#dispatcher?.openSockets.close()]);
  }

  #createDispatcher(shared?: SharedWork): Dispatcher {
    const { app, registry, topics, limits, precheck, metadataHint, builtIns } = this.#parts;
    const { board, endpointsFor, errorBoundary, guardsOfPage } = this.#parts;
    this.#checkMounts();
    stopWithDenoServe(this.target);
    topics.serve();
    registry.freeze("the application serves already; declare everything before the first request");
    registry.nameOperations();
    const { routes } = registry;
    hideKeys([...neededBy(routes), ...guardsOfPage]);
    const dispatcher = new Dispatcher({
      app,
      routes,
      prefixes: registry.prefixes,
      builtIns: [...builtIns, ...endpointsFor(routes), ...board.localEndpoints(registry.scope.limiters)],
      metadataHint,
      middlewares: registry.scope.middlewares,
      limits,
      ...precheck,
      toErrorReply: errorBoundary(),
      stopping: () => this.lifecycle.stopping,
    }, shared);
    for (const inner of mountedApps(routes)) inner.join(dispatcher);
    return dispatcher;
  }
}
