/** How an application starts, serves and stops. It can start again after that. */
import { load } from "../base/async_context.ts";
import type { BoardHost } from "./board_host.ts";
import { RouteError } from "../base/errors.ts";
import type { Service } from "../base/service.ts";
import { isAsyncGeneratorFunction, type Startable, startDependencies } from "../binding/dependency.ts";
import type { AppHandle } from "../http/app_handle.ts";
import { describeError, detached, log, logFor } from "../log/log.ts";
import { meter } from "../log/telemetry.ts";
import type { PrecheckParts } from "../routing/dispatch.ts";
import type { MountedApp } from "../routing/mount.ts";
import type { Topics } from "../topics/topics.ts";
import type { Crons } from "../work/cron/crons.ts";
import type { Webhooks } from "../webhooks/webhooks.ts";

/**
 * Opens what the application needs, yields it as part of the state, and closes it when the
 * application stops.
 *
 * `App` is the application, `State` the type of its state.
 */
export type Lifespan<App, State> = (app: App) => AsyncGenerator<Partial<State> | void, void, void>;

export interface LifecycleParts<App, State> {
  readonly app: App;
  readonly precheck: Pick<PrecheckParts, "proxies">;
  readonly topics: Topics;
  readonly crons: Crons<State>;
  readonly webhooks: Pick<Webhooks, "start" | "close">;
  readonly mounted: () => readonly MountedApp[];
  readonly board?: BoardHost;
  readonly openSockets: () => number;
}

interface Context<App, State> {
  readonly app: App;
  readonly state: Readonly<State>;
}

export class Lifecycle<App extends AppHandle, State> implements Service<readonly Startable[]> {
  readonly #parts: LifecycleParts<App, State>;
  readonly #lifespans: Lifespans<App, State> = new Lifespans();
  /** Loaded by the start, if there are any. */
  #consumers: Service<Context<App, State>> | undefined;
  #starting: Promise<void> | undefined;
  #state: Readonly<State> | undefined;
  #openState: Readonly<State> | undefined;
  #stopping = new AbortController();
  /** The arguments of an abort, for a service that starts later. */
  #aborted: Parameters<Service["abort"]> | undefined;
  #endGauges: () => Promise<void> = async () => {};
  hasWorkers = false;
  isFirst = true;

  constructor(parts: LifecycleParts<App, State>) {
    this.#parts = parts;
  }

  /** What the lifespans yielded, until they end. */
  get state(): Readonly<State> | undefined {
    return this.#state;
  }

  /** The state for new requests; undefined during a stop, which refuses them. */
  get openState(): Readonly<State> | undefined {
    return this.#openState;
  }

  /** Aborted by a stop. */
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

  /** Whether a stop may have to wait for handlers of consumers or crons. */
  get hasHandlers(): boolean {
    const { topics, crons, mounted } = this.#parts;
    return topics.consumers.length > 0 || !crons.isEmpty || mounted().length > 0;
  }

  async drain(): Promise<void> {
    this.#openState = undefined;
    this.#stopping.abort();
    await Promise.all(this.#services.map((service) => service.drain()));
  }

  abort(...reason: Parameters<Service["abort"]>): void {
    this.#aborted = reason;
    for (const service of this.#services) service.abort(...reason);
  }

  /** Waits for the handlers, ends the lifespans, and closes the topics. */
  close(): Promise<void> {
    return logFor(this.#parts.app, () => this.#close());
  }

  async #close(): Promise<void> {
    const { topics, mounted } = this.#parts;
    await this.#starting?.catch(() => {});
    this.#starting = undefined;
    this.#state = this.#openState = undefined;
    const isMeasured = this.#endGauges();
    try {
      await takeAll([
        async () => await this.#parts.board?.close(),
        () => Promise.all(this.#work.map((service) => service.close())),
        ...mounted().toReversed().map((app) => () => app.close()),
        () => this.#lifespans.stop(),
        () => topics.close(),
      ]);
      this.#parts.webhooks.close();
    } finally {
      await isMeasured;
      this.#consumers = this.#aborted = undefined;
    }
  }

  /**
   * Accepts requests again after a close: the next one starts the application. Otherwise a mounted
   * one could start while the application that mounts it still closes.
   */
  reopen(): void {
    this.#stopping = new AbortController();
    for (const app of this.#parts.mounted()) app.reopen();
  }

  /** In the order of their start. Topics can be used before it. */
  get #services(): readonly Service<Context<App, State>>[] {
    const { topics, mounted, board } = this.#parts;
    return [topics, ...mounted(), ...this.#work, ...board?.isOn ? [board] : []];
  }

  get #work(): readonly Service<Context<App, State>>[] {
    const { crons } = this.#parts;
    return this.#consumers ? [this.#consumers, crons] : [crons];
  }

  async #startAll(dependencies: readonly Startable[]): Promise<Readonly<State>> {
    const { app, precheck, topics, crons, webhooks } = this.#parts;
    if (meter) {
      const { showGauges } = await load(() => import("./gauges.ts"));
      this.#endGauges = showGauges(meter, this.#parts);
    }
    await precheck.proxies.open();
    await startDependencies(dependencies, { hasWorkers: this.hasWorkers, isFirst: this.isFirst });
    // These two can refuse the start, so they come before the first lifespan opens something.
    await crons.check();
    await topics.start();
    await webhooks.start();
    const state = await this.#lifespans.start(app);
    await this.#startServices({ app, state });
    return state;
  }

  /** Starts the services in order. If one fails, those before it are closed, and the lifespans. */
  async #startServices(context: Context<App, State>): Promise<void> {
    const { topics } = this.#parts;
    const started: Service[] = [];
    try {
      if (topics.consumers.length > 0) {
        const { ConsumerService } = await load(() => import("../work/consumers/consumers.ts"));
        this.#consumers = new ConsumerService(topics);
      }
      for (const service of this.#services) {
        await service.start(context);
        started.push(service);
        // A stop may have come meanwhile.
        if (this.stopping.aborted) void service.drain();
        if (this.#aborted) service.abort(...this.#aborted);
      }
    } catch (error) {
      const closable = started.toReversed().filter((service) => service !== topics);
      try {
        await takeAll([...closable.map((service) => () => service.close()), () => this.#lifespans.stop()]);
      } catch (failure) {
        log("error", "After a failed start, a part of the application cannot be closed", {
          error: describeError(failure),
        });
      }
      this.#consumers = undefined;
      throw error;
    }
  }
}

/**
 * Takes steps one after another, also those after one that fails.
 *
 * @throws {unknown} The first error.
 */
async function takeAll(steps: readonly (() => Promise<unknown>)[]): Promise<void> {
  const failures: unknown[] = [];
  for (const step of steps) await step().catch((error) => failures.push(error));
  if (failures.length > 0) throw failures[0];
}

class Lifespans<App, State> {
  readonly #lifespans: Lifespan<App, State>[] = [];
  readonly #open: AsyncGenerator<unknown, void, void>[] = [];

  /** @throws {TypeError} If it is not an `async function*`. */
  add(lifespan: Lifespan<App, State>): void {
    if (!isAsyncGeneratorFunction(lifespan)) {
      throw new TypeError("Cannot add the lifespan: it must be an async generator, write async function* (app) { … }");
    }
    this.#lifespans.push(lifespan);
  }

  /**
   * Starts the lifespans in order. If one fails, the open ones end.
   *
   * @returns All yielded values in one frozen object.
   * @throws {TypeError} If a lifespan ends without a yield, or two yield the same name.
   */
  async start(app: App): Promise<Readonly<State>> {
    const state: Record<string, unknown> = {};
    try {
      for (const lifespan of this.#lifespans) {
        const generator = lifespan(app);
        const { done, value } = await generator.next();
        if (done) {
          throw new TypeError(`Cannot start ${nameOf(lifespan)}: it ended without a yield`);
        }
        this.#open.push(generator);
        for (const [name, part] of Object.entries(value ?? {})) {
          if (Object.hasOwn(state, name)) {
            throw new TypeError(`Cannot start ${nameOf(lifespan)}: another one yielded "${name}" already`);
          }
          state[name] = part;
        }
      }
      return Object.freeze(state) as Readonly<State>;
    } catch (error) {
      await this.stop();
      throw error;
    }
  }

  /** Unwinds the open lifespans, the last one first. Errors are logged. */
  async stop(): Promise<void> {
    for (let generator = this.#open.pop(); generator; generator = this.#open.pop()) {
      try {
        const { done } = await generator.next();
        if (!done) {
          await generator.return();
          throw new TypeError("Cannot end the lifespan: it yielded more than once");
        }
      } catch (error) {
        log("error", "A lifespan failed to end", {
          error: describeError(error),
        });
      }
    }
  }
}

function nameOf(lifespan: { readonly name: string }): string {
  return lifespan.name === "" ? "the lifespan" : `the lifespan "${lifespan.name}"`;
}
