/** How a cron is declared: its schedule, its options, its handler. */
import { checkOptions, type Duration, type OptionNames, quote, toMilliseconds } from "../../base/options.ts";
import type { Log } from "../../log/log.ts";
import type { AppHandle } from "../../http/app_handle.ts";

/** The options of a cron. */
export interface CronOptions {
  /**
   * The time zone of the schedule, such as `"Europe/Berlin"`. A local time that the start of summer
   * time skips runs after the gap, and a doubled one runs once. If the hour is `*`, the cron runs
   * in each hour that passes, also in a doubled one.
   *
   * @default {"UTC"}
   */
  timeZone?: string;
  /**
   * How late a missed run is made up for, at most 31 days. Of several, the last one runs. By
   * default none is made up for.
   */
  catchUp?: Duration;
}

/** The argument of a cron's handler. `State` is the type of what the lifespans yield. */
export interface CronRun<State = Record<string, unknown>> {
  /** The time that is due. */
  readonly scheduled: Date;
  /**
   * Aborted when the grace period of a stop is over, or when the node could not renew its lease and
   * another one may take the run over.
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

/** @ignore The handler of a cron. */
export type CronHandler<State> = (run: CronRun<State>) => unknown;

/** @ignore The function that declares a cron. */
export interface DeclareCron<State> {
  /**
   * Runs a function at times that a cron expression gives: minute, hour, day of the month, month,
   * day of the week. Each time runs on one node of all that share the store of the records, see
   * {@linkcode Records}; without a durable store, once in this process and its workers.
   *
   * The node that runs renews a lease of 30 seconds. If it dies, another one runs the time again:
   * make the handler safe for that. If a run still goes on when the next time is due, that time is
   * skipped, and this is logged. An error is logged and reported, and the time is not tried again.
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
  /** The same in UTC, without making up for missed runs. */
  (name: string, schedule: string, handler: CronHandler<State>): void;
}

export interface DeclaredCron {
  readonly name: string;
  readonly schedule: string;
  readonly timeZone: string;
  readonly catchUp: number;
  readonly handler: CronHandler<never>;
}

const OPTIONS: OptionNames<CronOptions> = { timeZone: true, catchUp: true };

/** Deno Deploy accepts the same names. */
const NAME = /^[A-Za-z0-9_ -]{1,64}$/;
const MAX_CATCH_UP = 31 * 24 * 3_600_000;

/** Checks a declaration. The errors are those of {@linkcode DeclareCron}. */
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

interface Field {
  readonly name: string;
  readonly least: number;
  readonly most: number;
  /** The first one is that of `least`. */
  readonly names?: readonly string[];
  /** Forms of this field alone. */
  readonly special?: RegExp;
}

const MONTHS = ["JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC"];
const DAYS = ["SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"];

const FIELDS: readonly Field[] = [
  { name: "minute", least: 0, most: 59 },
  { name: "hour", least: 0, most: 23 },
  { name: "day of the month", least: 1, most: 31, special: /^(?:L|LW|(?:[1-9]|[12]\d|3[01])W)$/i },
  { name: "month", least: 1, most: 12, names: MONTHS },
  {
    name: "day of the week",
    least: 0,
    most: 7,
    names: DAYS,
    special: /^(?:[0-7]|SUN|MON|TUE|WED|THU|FRI|SAT)(?:L|#[1-5])$/i,
  },
];

/** A value, a range, or `*`, perhaps with a step. */
const ITEM = /^(?:\*|(\w+)(?:-(\w+))?)(?:\/(\d+))?$/;

/** Returns what is wrong with a cron expression, if anything. */
export function faultOf(schedule: unknown): string | undefined {
  const rule = 'the schedule must have five fields, such as "0 3 * * *" for each day at 3:00';
  if (typeof schedule !== "string") return rule;
  const texts = schedule.trim().split(/\s+/);
  if (texts.length !== FIELDS.length) return rule;
  for (const [index, field] of FIELDS.entries()) {
    const wrong = texts[index]!.split(",").find((item) => !isItem(item, field));
    if (wrong === undefined) continue;
    return `its ${field.name} must be from ${field.least} to ${field.most}, a range, a list, "*" or "*/2", got ${
      JSON.stringify(wrong)
    }`;
  }
  return undefined;
}

/** If the hour is `*`, a cron runs in each hour that passes. */
export function hasEachHour(schedule: string): boolean {
  const [, hour] = schedule.trim().split(/\s+/);
  return hour!.split(",").includes("*");
}

/** A schedule in UTC that includes all times of another one, whatever its time zone. */
export function triggersOf(schedule: string, timeZone: string): string {
  const [minute, hour] = schedule.trim().split(/\s+/) as [string, string];
  const minutes = listOf(minute, FIELDS[0]!);
  if (timeZone === "UTC") return `${minutes} ${listOf(hour, FIELDS[1]!)} * * *`;
  // Zones differ from UTC by quarters of an hour. A time in a gap runs at the full hour.
  const quarters = [0, 15, 30, 45];
  const all = [0, ...minutes.split(",").map(Number)].flatMap((minute) => {
    return quarters.map((quarter) => (minute + quarter) % 60);
  });
  return `${listOf(all.join(","), FIELDS[0]!)} * * * *`;
}

function isItem(item: string, field: Field): boolean {
  if (field.special?.test(item)) return true;
  const [found, from, to, step] = ITEM.exec(item) ?? [];
  if (found === undefined) return false;
  const [least, most] = [from, to].map((text) => text === undefined ? undefined : valueOf(text, field));
  if (least !== undefined && Number.isNaN(least) || most !== undefined && !(most >= least!)) return false;
  if (step === undefined) return true;
  // A step of one value means nothing.
  return Number(step) > 0 && Number(step) <= field.most && (from === undefined || to !== undefined);
}

function valueOf(text: string, { least, most, names }: Field): number {
  const index = names?.indexOf(text.toUpperCase()) ?? -1;
  const value = index >= 0 ? index + least : /^\d+$/.test(text) ? Number(text) : NaN;
  return value >= least && value <= most ? value : NaN;
}

function listOf(text: string, field: Field): string {
  const values = text.split(",").flatMap((item) => {
    const [, from, to, step] = ITEM.exec(item)!;
    const first = from === undefined ? field.least : Number(from);
    const last = from === undefined ? field.most : Number(to ?? from);
    return Array.from({ length: Math.floor((last - first) / Number(step ?? 1)) + 1 }, (_, index) => {
      return first + index * Number(step ?? 1);
    });
  });
  return [...new Set(values)].sort((one, other) => one - other).join(",");
}
