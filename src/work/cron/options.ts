/** How a cron is declared: its options, its handler, and their checks. */
import { type Duration, toMilliseconds } from "../../base/duration.ts";
import type { Log } from "../../log/user_log.ts";
import type { AppHandle } from "../../http/app_handle.ts";
import { checkOptions, type OptionNames, quote } from "../../base/options.ts";
import { faultOf } from "./fields.ts";

/**
 * When the times of a cron are.
 *
 * @category Cron
 */
export interface CronOptions {
  /**
   * The time zone of the schedule, such as `"Europe/Berlin"`. A local time that is skipped at the
   * change of summer time runs at the first time after the gap, and one that is doubled runs once.
   * If the hour is `*`, the cron runs in each hour that passes, also in a doubled one.
   *
   * @default {"UTC"}
   */
  timeZone?: string;
  /**
   * How late a time that was missed is made up for, 31 days at most. Of several, the last one runs.
   * By default none is made up for.
   */
  catchUp?: Duration;
}

/**
 * What the handler of a cron gets. `State` is the type of what the lifespans yield.
 *
 * @category Cron
 */
export interface CronRun<State = Record<string, unknown>> {
  /** The time that is due. */
  readonly scheduled: Date;
  /**
   * Is aborted when the application stops and the grace period is over, or when the node has lost
   * the store for so long that another one may take the run over.
   */
  readonly signal: AbortSignal;
  /**
   * The log, for entries that carry `cron` and `scheduled`. They go to stderr, or to the option
   * `log` of the application.
   */
  readonly log: Log;
  /** The application. */
  readonly app: AppHandle;
  /** What the lifespans yielded. */
  readonly state: Readonly<State>;
}

/** Runs at the times of a cron. */
export type CronHandler<State> = (run: CronRun<State>) => unknown;

/** Declares crons. */
export interface DeclareCron<State> {
  /**
   * Runs a function at times that a cron expression gives: minute, hour, day of the month, month,
   * day of the week. Each time runs on one node of all that share the store of the records, see
   * {@linkcode Records}; without a durable store, once in this process and its workers.
   *
   * The node that runs renews a lease of 30 seconds. If it dies, another one runs the time again:
   * make the handler safe for that. A run that still goes on when the next time is due: the next is
   * skipped, and that is logged. An error is logged and reported, and the time is not tried again.
   *
   * Crons begin when the application starts: with {@linkcode App.run}, and when `deno serve`
   * listens. On Deno Deploy, the platform starts the application for them.
   *
   * @param name The name, which identifies the cron on all nodes: 1 to 64 letters, digits, spaces,
   * hyphens and underscores. Applications that share a store need different names.
   * @param schedule The cron expression, such as `"0 3 * * *"` for each day at 3:00.
   * @param options The time zone, and whether missed times are made up for.
   * @param handler The function.
   * @throws {TypeError} If the name, the schedule, an option or the handler is wrong.
   * @throws {RangeError} If `catchUp` is out of range.
   * @throws {RouteError} With code `conflict`, if there is a cron of this name; with code `frozen`,
   * if the application has started.
   *
   * @example Each night at three in Berlin
   * ```ts
   * import { App } from "@webfw/core";
   * import { assertThrows } from "@std/assert";
   *
   * const app = new App();
   * app.cron("clean up", "0 3 * * *", { timeZone: "Europe/Berlin", catchUp: "2h" }, async ({ app, signal }) => {
   *   for await (const { key } of app.records.list(["draft"])) {
   *     if (signal.aborted) return;
   *     await app.records.delete(key);
   *   }
   * });
   * await app.start();
   * await app.stop();
   *
   * assertThrows(() => new App().cron("daily", "@daily", async () => {}), TypeError, "five fields");
   * ```
   */
  (name: string, schedule: string, options: CronOptions, handler: CronHandler<State>): void;
  /** As above, in UTC, without making up for missed times. */
  (name: string, schedule: string, handler: CronHandler<State>): void;
}

/** A declared cron. */
export interface DeclaredCron {
  readonly name: string;
  readonly schedule: string;
  readonly timeZone: string;
  /** In milliseconds; 0 for none. */
  readonly catchUp: number;
  readonly handler: CronHandler<never>;
}

const OPTIONS: OptionNames<CronOptions> = { timeZone: true, catchUp: true };

/** What Deno Deploy takes, too. */
const NAME = /^[A-Za-z0-9_ -]{1,64}$/;
/** In milliseconds: 31 days. */
const MAX_CATCH_UP = 31 * 24 * 3_600_000;

/** Reads a declaration. Throws what {@linkcode DeclareCron} says. */
export function readCron(
  name: unknown,
  schedule: unknown,
  options: unknown,
  handler: unknown,
): DeclaredCron {
  if (typeof name !== "string" || !NAME.test(name)) {
    throw new TypeError(
      `Cannot declare the cron: its name must be 1 to 64 letters, digits, spaces, hyphens and underscores, got ${
        quote(name)
      }; write cron(name, schedule, handler)`,
    );
  }
  const action = `declare the cron "${name}"`;
  const fault = faultOf(schedule);
  if (fault !== undefined) throw new TypeError(`Cannot ${action}: ${fault}`);
  checkOptions(options as CronOptions, OPTIONS, action);
  const { timeZone = "UTC", catchUp } = options as CronOptions;
  if (!isTimeZone(timeZone)) {
    throw new TypeError(
      `Cannot ${action}: timeZone must be a time zone such as "Europe/Berlin", got ${quote(timeZone)}`,
    );
  }
  const catchUpMs = catchUp === undefined ? 0 : toMilliseconds(catchUp, `the catchUp of the cron "${name}"`);
  if (catchUpMs > MAX_CATCH_UP) {
    throw new RangeError(`Cannot ${action}: its catchUp must be at most 31d, got ${quote(catchUp)}`);
  }
  if (typeof handler !== "function") {
    throw new TypeError(
      `Cannot ${action}: its handler must be a function, got ${quote(handler)}; write async ({ scheduled }) => …`,
    );
  }
  return { name, schedule: schedule as string, timeZone, catchUp: catchUpMs, handler: handler as CronHandler<never> };
}

function isTimeZone(timeZone: unknown): boolean {
  if (typeof timeZone !== "string") return false;
  try {
    new Intl.DateTimeFormat("en", { timeZone });
    return true;
  } catch {
    return false;
  }
}
