/** All crons of an application that has started. */
import { recordsOf } from "../../store/records.ts";
import { type CronContext, CronJob } from "./cron_job.ts";
import type { DeclaredCron } from "./options.ts";
import { CRON_SPACE } from "./record.ts";
import { CronTimes } from "./times.ts";

/** How long a stop waits after signals were aborted: for handlers, and for a last write each. */
const LAST_WAIT = 2_000;

export class CronJobs {
  readonly #jobs: readonly CronJob[];
  readonly #context: CronContext;
  readonly #over = Promise.withResolvers<unknown>();
  readonly #closed = Promise.withResolvers<void>();
  #cancel: () => void = () => {};
  #isAborted = false;

  constructor(declared: readonly DeclaredCron[], context: CronContext) {
    this.#context = { ...context, records: recordsOf(context.records, CRON_SPACE) };
    this.#jobs = declared.map((cron) => new CronJob(cron, new CronTimes(cron), this.#context));
  }

  /** Runs times until the jobs are ended. */
  work(): void {
    this.#over.resolve(Promise.all(this.#jobs.map((job) => job.work())));
  }

  /** Runs what is due now, and waits for its end. */
  async workOnce(): Promise<void> {
    await Promise.all(this.#jobs.map((job) => job.workOnce()));
  }

  /**
   * Begins no more runs.
   *
   * @param grace After how many milliseconds signals are aborted; by default when somebody does it.
   */
  end(grace?: number): void {
    for (const job of this.#jobs) job.end();
    if (grace === undefined || this.#isAborted) return;
    this.#cancel();
    this.#cancel = this.#context.clock.after(grace, () => this.abort());
  }

  /** Aborts the signals of runs, and gives up those that do not end soon. */
  abort(): void {
    if (this.#isAborted) return;
    this.#isAborted = true;
    this.#cancel();
    for (const job of this.#jobs) job.abort();
    this.#cancel = this.#context.clock.after(LAST_WAIT, () => {
      for (const job of this.#jobs) job.close();
      this.#closed.resolve();
    });
  }

  /** Resolves when all runs have ended, or were given up. */
  async stopped(): Promise<void> {
    await Promise.race([this.#over.promise, this.#closed.promise]);
    this.#cancel();
  }
}
