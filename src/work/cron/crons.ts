/** The crons of an application. What runs them is loaded when it starts, if there are any. */
import { load } from "../../base/async_context.ts";
import { RouteError } from "../../base/errors.ts";
import type { AppHandle } from "../../http/app_handle.ts";
import type { Records } from "../../store/records.ts";
import { quote } from "../../base/options.ts";
import { readVariable } from "../../base/runtime.ts";
import { triggersOf } from "./options.ts";
import { clockOf, type CronClock } from "./clock.ts";
import type { CronJobs } from "./jobs.ts";
import type { Topics } from "../../topics/topics.ts";
import { type DeclareCron, type DeclaredCron, readCron } from "./options.ts";
import type { CronReport } from "./record.ts";

/** How long runs have after a stop without a server, in milliseconds. */
const GRACE = 10_000;

/** Runs a function at times: `Deno.cron` on Deno Deploy. */
export type PlatformCron = (name: string, schedule: string, handler: () => Promise<void>) => unknown;

/** What the crons need of their application. */
export interface CronsParts {
  /** The records, and the time of their store. */
  readonly topics: Pick<Topics, "records" | "recordsTime">;
  /** Starts the application. */
  readonly start: () => Promise<void>;
  /** The clock; by default that of this machine. */
  readonly clock?: CronClock;
  /**
   * Gives the times where the platform stops programs in between; by default it is `Deno.cron` on
   * Deno Deploy.
   */
  readonly platform?: PlatformCron | undefined;
}

export class Crons<State> {
  /** Declares a cron. */
  readonly declare: DeclareCron<State>;
  readonly #records: Records;
  readonly #platform: PlatformCron | undefined;
  readonly #startApp: () => Promise<void>;
  readonly #clock: CronClock;
  readonly #declared = new Map<string, DeclaredCron>();
  #isFrozen = false;
  #jobs: CronJobs | undefined;
  /** After how many milliseconds a stop aborts the signals; undefined if a server does it. */
  #grace: number | undefined;
  /** What the application has started with. */
  #owner: { readonly app: AppHandle; readonly state: unknown } | undefined;
  /** Aborts runs of {@linkcode Crons.runNow}. */
  #runsNow = new AbortController();

  constructor({ topics, start, clock = clockOf(() => topics.recordsTime), platform = platformCron() }: CronsParts) {
    this.#records = topics.records;
    this.#startApp = start;
    this.#clock = clock;
    this.#platform = platform;
    this.declare = (name: string, schedule: string, ...rest: readonly unknown[]): void => {
      this.#add(readCron(name, schedule, rest.length > 1 ? rest[0] : {}, rest.at(rest.length > 1 ? 1 : 0)));
    };
  }

  /**
   * Checks that the schedules have times. From now on, no cron can be declared.
   *
   * @returns Whether there are any.
   * @throws {TypeError} If one has none.
   */
  async check(): Promise<boolean> {
    this.#isFrozen = true;
    if (this.#declared.size === 0) return false;
    const { CronTimes } = await load(() => import("./times.ts"));
    for (const cron of this.#declared.values()) new CronTimes(cron);
    return true;
  }

  /** Runs the crons until they are stopped. It returns the state. */
  async start(app: AppHandle, state: Readonly<State>): Promise<Readonly<State>> {
    this.#owner = { app, state };
    if (this.#declared.size === 0 || this.#platform) return state;
    this.#jobs = await this.#makeJobs([...this.#declared.values()]);
    this.#jobs.work();
    return state;
  }

  /**
   * Begins no more runs.
   *
   * @param hasServer Whether a server calls {@linkcode Crons.abort} after the grace period.
   */
  end(hasServer = true): void {
    if (!hasServer) this.#grace = GRACE;
    this.#jobs?.end(this.#grace);
  }

  /** Aborts the signals of runs. */
  abort(): void {
    this.#grace = 0;
    this.#jobs?.abort();
    this.#abortRunsNow();
  }

  /** Waits until all runs have ended, at most until shortly after their signals were aborted. */
  async stop(): Promise<void> {
    // A stop that came while the application started found no jobs.
    this.#jobs?.end(this.#grace);
    await this.#jobs?.stopped();
    this.#jobs = this.#grace = undefined;
    this.#owner = undefined;
    this.#abortRunsNow();
  }

  /**
   * Runs a cron at once, for tests: whatever its times are, and whether another node runs it.
   *
   * @throws {TypeError} If there is no cron of this name. It fails as the handler does.
   */
  async runNow(name: string): Promise<void> {
    const cron = this.#declared.get(name);
    if (!cron) {
      const names = Array.from(this.#declared.keys(), (one) => quote(one)).join(", ") || "none";
      throw new TypeError(`Cannot run the cron ${quote(name)}: there is none of this name, declared are: ${names}`);
    }
    await this.#startApp();
    const { callHandler } = await load(() => import("./cron_job.ts"));
    const { signal } = this.#runsNow;
    await callHandler(cron, { ...this.#owner!, scheduled: this.#clock.time(), signal });
  }

  /**
   * What operators see.
   *
   * @param hasRecords Whether there are records to read.
   */
  async report(hasRecords = true): Promise<CronReport[]> {
    if (this.#declared.size === 0) return [];
    const { reportCrons } = await load(() => import("./record.ts"));
    return await reportCrons(this.#declared.values(), hasRecords ? this.#records : undefined, this.#clock.time());
  }

  #abortRunsNow(): void {
    this.#runsNow.abort(new DOMException("The application stops", "AbortError"));
    this.#runsNow = new AbortController();
  }

  #add(cron: DeclaredCron): void {
    const { name } = cron;
    if (this.#isFrozen) {
      throw new RouteError("frozen", `Cannot declare the cron "${name}": the application has started`);
    }
    if (this.#declared.has(name)) {
      throw new RouteError("conflict", `Cannot declare the cron "${name}": there is one of this name, rename one`);
    }
    this.#declared.set(name, cron);
    // Deno Deploy wants to know of it while the program is loaded.
    this.#platform?.(name, triggersOf(cron.schedule, cron.timeZone), () => this.#runOnPlatform(cron));
  }

  async #runOnPlatform(cron: DeclaredCron): Promise<void> {
    await this.#startApp();
    await (await this.#makeJobs([cron])).workOnce();
  }

  async #makeJobs(declared: readonly DeclaredCron[]): Promise<CronJobs> {
    const { CronJobs } = await load(() => import("./jobs.ts"));
    return new CronJobs(declared, { ...this.#owner!, records: this.#records, clock: this.#clock });
  }
}

/** `Deno.cron` on Deno Deploy, which stops programs between requests; undefined elsewhere. */
function platformCron(): PlatformCron | undefined {
  // The types of a program have it only with `--unstable-cron`.
  const cron: unknown = readVariable("DENO_DEPLOYMENT_ID") === undefined ? undefined : Reflect.get(Deno, "cron");
  return typeof cron === "function" ? cron as PlatformCron : undefined;
}
