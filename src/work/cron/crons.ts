/** The crons of an application. The module that runs them is loaded when one is needed. */
import { load } from "../../base/async_context.ts";
import { type SharedClock, SYSTEM_CLOCK } from "../../base/clock.ts";
import { RouteError } from "../../base/errors.ts";
import { quote } from "../../base/options.ts";
import { readVariable } from "../../base/runtime.ts";
import { type Service, stopReason } from "../../base/service.ts";
import type { AppHandle } from "../../http/app_handle.ts";
import type { CronReport } from "../../topics/topic_report.ts";
import type { Topics } from "../../topics/topics.ts";
import type { CronJob } from "./cron_job.ts";
import { type DeclareCron, type DeclaredCron, readCron, triggersOf } from "./options.ts";

/** `Deno.cron`, which Deno Deploy calls at the times of a cron. */
export type PlatformCron = (name: string, schedule: string, handler: () => Promise<void>) => unknown;

interface Owner<State> {
  readonly app: AppHandle;
  readonly state: Readonly<State>;
}

export interface CronsParts {
  readonly topics: Pick<Topics, "records" | "recordsTime" | "needRecords">;
  readonly startApp: () => Promise<void>;
  readonly clock?: SharedClock;
  /** By default `Deno.cron` on Deno Deploy, which stops programs between requests. */
  readonly platform?: PlatformCron | undefined;
}

export class Crons<State> implements Service<Owner<State>> {
  readonly declare: DeclareCron<State>;
  readonly #topics: CronsParts["topics"];
  readonly #platform: PlatformCron | undefined;
  readonly #startApp: () => Promise<void>;
  readonly #clock: SharedClock;
  readonly #declared = new Map<string, DeclaredCron>();
  #isFrozen = false;
  #jobs: readonly CronJob[] = [];
  #owner: Owner<State> | undefined;
  #runsNow = new AbortController();

  constructor({ topics, startApp, clock, platform = platformCron() }: CronsParts) {
    this.#topics = topics;
    this.#startApp = startApp;
    this.#clock = clock ?? { ...SYSTEM_CLOCK, time: () => topics.recordsTime };
    this.#platform = platform;
    this.declare = (name: string, schedule: string, ...rest: readonly unknown[]): void => {
      this.#add(readCron(name, schedule, rest.length > 1 ? rest[0] : {}, rest.at(rest.length > 1 ? 1 : 0)));
    };
  }

  get isEmpty(): boolean {
    return this.#declared.size === 0;
  }

  /**
   * From now on, no cron can be declared.
   *
   * @throws {TypeError} If a schedule has no next time.
   */
  async check(): Promise<void> {
    this.#isFrozen = true;
    if (this.isEmpty) return;
    const { checkSchedules } = await load(() => import("./record.ts"));
    checkSchedules(this.#declared.values());
  }

  async start(owner: Owner<State>): Promise<void> {
    this.#owner = owner;
    if (this.isEmpty || this.#platform) return;
    this.#jobs = await Promise.all(Array.from(this.#declared.values(), (cron) => this.#makeJob(cron)));
    for (const job of this.#jobs) job.start();
  }

  drain(): void {
    for (const job of this.#jobs) job.drain();
  }

  abort(reason: DOMException): void {
    for (const job of this.#jobs) job.abort(reason);
    this.#abortRunsNow(reason);
  }

  async close(): Promise<void> {
    await Promise.all(this.#jobs.map((job) => job.close()));
    this.#jobs = [];
    this.#owner = undefined;
    this.#abortRunsNow(stopReason());
  }

  /**
   * For tests: whatever the times are, and whether another node runs it. It fails as the handler
   * does.
   *
   * @throws {TypeError} If there is no cron of this name.
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

  /** `hasRecords` is false where there is no store to read. */
  async report(hasRecords = true): Promise<CronReport[]> {
    if (this.#declared.size === 0) return [];
    const { reportCrons } = await load(() => import("./record.ts"));
    return await reportCrons(
      this.#declared.values(),
      hasRecords ? this.#topics.records : undefined,
      this.#clock.time(),
    );
  }

  /** The next times of a cron, in milliseconds since 1970. */
  async upcoming(name: string, count: number): Promise<readonly number[]> {
    const cron = this.#declared.get(name);
    if (!cron) return [];
    const { upcomingTimes } = await load(() => import("./record.ts"));
    return upcomingTimes(cron, this.#clock.time(), count);
  }

  #abortRunsNow(reason: DOMException): void {
    this.#runsNow.abort(reason);
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
    this.#topics.needRecords();
    // Deno Deploy collects crons while it loads the program.
    this.#platform?.(name, triggersOf(cron.schedule, cron.timeZone), () => this.#runOnPlatform(cron));
  }

  async #runOnPlatform(cron: DeclaredCron): Promise<void> {
    await this.#startApp();
    await (await this.#makeJob(cron)).runDue();
  }

  async #makeJob(cron: DeclaredCron): Promise<CronJob> {
    const { CronJob } = await load(() => import("./cron_job.ts"));
    return new CronJob(cron, { ...this.#owner!, records: this.#topics.records, clock: this.#clock });
  }
}

/** Undefined except on Deno Deploy, which stops programs between requests. */
function platformCron(): PlatformCron | undefined {
  // The types of a program have it only with `--unstable-cron`.
  const cron: unknown = readVariable("DENO_DEPLOYMENT_ID") === undefined ? undefined : Reflect.get(Deno, "cron");
  return typeof cron === "function" ? cron as PlatformCron : undefined;
}
