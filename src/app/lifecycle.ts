/** How an application starts, serves and stops. It can start again after that. */
import { load } from "../base/async_context.ts";
import { type Startable, startDependencies } from "../binding/dependency.ts";
import { RouteError } from "../base/errors.ts";
import type { AppHandle } from "../http/app_handle.ts";
import { type Lifespan, Lifespans } from "./lifespan.ts";
import { detached, logFor } from "../log/log.ts";
import type { PrecheckParts } from "../routing/precheck.ts";
import type { MountedApp } from "../routing/mount.ts";
import { meter } from "../log/telemetry.ts";
import type { Topics } from "../topics/topics.ts";
import type { Work } from "./work.ts";

/** What starts and stops together. */
export interface LifecycleParts<App, State> {
  readonly app: App;
  readonly precheck: PrecheckParts;
  readonly topics: Topics;
  readonly work: Work<State>;
  /** The applications that it mounts. */
  readonly mounted: () => readonly MountedApp[];
  /** How many WebSockets are open. */
  readonly openSockets: () => number;
}

/** The lifecycle of one application. */
export class Lifecycle<App extends AppHandle, State> {
  readonly #parts: LifecycleParts<App, State>;
  readonly #lifespans: Lifespans<App, State> = new Lifespans();
  #starting: Promise<void> | undefined;
  #state: Readonly<State> | undefined;
  #openState: Readonly<State> | undefined;
  #stopping = new AbortController();
  #endGauges: () => Promise<void> = async () => {};
  /** Whether other workers of this process serve, too. */
  hasWorkers = false;
  /** Whether this is the only worker, or the first one. */
  isFirst = true;

  constructor(parts: LifecycleParts<App, State>) {
    this.#parts = parts;
  }

  /** What the lifespans have yielded, until they have ended. */
  get state(): Readonly<State> | undefined {
    return this.#state;
  }

  /** The state for new requests; undefined while the application stops, so that it refuses them. */
  get openState(): Readonly<State> | undefined {
    return this.#openState;
  }

  /** Aborted while the application stops. */
  get stopping(): AbortSignal {
    return this.#stopping.signal;
  }

  /**
   * Adds a lifespan.
   *
   * @throws {RouteError} With code `frozen`, if the application has started.
   * @throws {TypeError} If it is not an `async function*`.
   */
  add(lifespan: Lifespan<App, State>): void {
    if (this.#starting) {
      throw new RouteError("frozen", "Cannot add a lifespan: the application has started");
    }
    this.#lifespans.add(lifespan);
  }

  /** Starts everything, once. After a failure, the next call tries again. */
  start(dependencies: readonly Startable[]): Promise<void> {
    // A request may be the first to need it, and what starts must not have its async context.
    return this.#starting ??= detached(() => logFor(this.#parts.app, () => this.#startAll(dependencies))).then(
      (state) => {
        this.#state = this.#openState = state;
      },
    ).catch((error) => {
      this.#starting = undefined;
      throw error;
    });
  }

  /** Refuses new requests, begins no new work, and ends subscriptions. */
  quiet(): void {
    this.#openState = undefined;
    this.#stopping.abort();
    this.#parts.work.quiet();
    this.#parts.topics.endSubscriptions();
  }

  /** Aborts the work, and stops waiting for messages that are being published. */
  abandon(): void {
    this.#parts.work.abort();
    this.#parts.topics.abandonPublishing();
    for (const app of this.#parts.mounted()) app.abandon();
  }

  /** Waits for the work, ends the lifespans, and closes the topics. */
  unwind(): Promise<void> {
    return logFor(this.#parts.app, () => this.#unwind());
  }

  async #unwind(): Promise<void> {
    await this.#starting?.catch(() => {});
    this.#starting = undefined;
    this.#state = this.#openState = undefined;
    for (const app of this.#parts.mounted().toReversed()) await app.unwind();
    const isMeasured = this.#endGauges();
    await this.#parts.work.stop();
    await this.#lifespans.stop();
    await this.#parts.topics.close();
    await isMeasured;
  }

  /** Lets requests in again after a stop. The next one starts the application. */
  reopen(): void {
    this.#stopping = new AbortController();
    for (const app of this.#parts.mounted()) app.reopen();
  }

  async #startAll(dependencies: readonly Startable[]): Promise<Readonly<State>> {
    const { app, precheck, work, mounted } = this.#parts;
    if (meter) {
      const { showGauges } = await load(() => import("./gauges.ts"));
      this.#endGauges = showGauges(meter, this.#parts);
    }
    await precheck.proxies.open();
    await startDependencies(dependencies, { hasWorkers: this.hasWorkers, isFirst: this.isFirst });
    return await this.#lifespans.start(app, () => work.open(), async (state) => {
      await startAll(mounted());
      await work.start(app, state);
    });
  }
}

/** Starts applications in order. If one fails, those before it are unwound. */
async function startAll(apps: readonly MountedApp[]): Promise<void> {
  for (const [index, app] of apps.entries()) {
    try {
      await app.start();
    } catch (error) {
      for (const started of apps.slice(0, index).toReversed()) await started.unwind();
      throw error;
    }
  }
}
