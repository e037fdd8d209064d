/** The log: entries go to stderr, or to the function of the application that they belong to. */
import { outsideRequests } from "../base/async_context.ts";
import { type LogLevel, type LogValue, toJsonLine, toLogValue, toTerminalText, toTextLine } from "./log_text.ts";
import { redactText } from "./redaction.ts";
import { nodeAsyncHooks, readVariable } from "../base/runtime.ts";
import { traceFields } from "./telemetry.ts";

export { describeError } from "./log_text.ts";

/** The values of an entry. Those that are undefined are left out. */
type LogFields = Readonly<Record<string, unknown>>;

/**
 * An entry of the log, as the option `log` of an application gets it. Everything in it is a JSON
 * value.
 *
 * @category Applications
 */
export interface LogEntry {
  /** When it was written. */
  readonly time: Date;
  /** The severity. */
  readonly level: "info" | "warn" | "error";
  /** What happened. */
  readonly message: string;
  /**
   * The values of the entry: `request_id` where it belongs to a request, `trace_id` and `span_id`
   * with OpenTelemetry, and `error`, an error as text with its stack and its causes.
   */
  readonly fields: Readonly<Record<string, LogValue>>;
}

/** What entries are written by. A request adds its id. */
export interface Logger {
  log(level: LogLevel, message: string, fields?: LogFields): void;
}

/** Takes the entries of an application. */
type TakeEntry = (entry: LogEntry) => unknown;

/** The part of Node.js's `AsyncLocalStorage` that is used. */
interface Owners {
  getStore(): object | undefined;
  run<Result>(owner: object, run: () => Result): Result;
}

/** The functions by their applications. */
const takers = new WeakMap<object, TakeEntry>();
/**
 * The application for which code runs; undefined while no application of the process has a
 * function.
 */
let owners: Owners | undefined;
/**
 * The owner of what a function does itself, also later: such entries go to stderr, without end
 * otherwise.
 */
const TAKING: object = {};

const encoder = new TextEncoder();
let form: string | undefined;

/**
 * Writes one entry. On stderr it is a readable line, or a JSON object if the environment variable
 * `WEBFW_LOG` is `json`. On a terminal, the lines below an error show its message, its causes, and
 * the stack frames of the application's own files, or all with `WEBFW_LOG=full`. Where
 * OpenTelemetry is on, each entry has the trace and the span that it belongs to.
 *
 * @param level The severity.
 * @param message What happened.
 * @param fields The values of the entry.
 * @param owner The application that it belongs to. The default is the one for which code runs.
 */
export function log(level: LogLevel, message: string, fields?: LogFields, owner?: object): void {
  const values: Record<string, LogValue> = {};
  for (const [name, value] of Object.entries({ ...fields, ...traceFields() })) {
    if (value !== undefined) values[name] = toLogValue(value);
  }
  const current = owners?.getStore();
  const to = current === TAKING ? TAKING : owner ?? current;
  const take = to && takers.get(to);
  if (take) give(take, redactEntry({ time: new Date(), level, message, fields: values }));
  else write({ time: new Date(), level, message, fields: values });
}

/** Writes the entries that belong to no request. */
export const PROCESS_LOGGER: Logger = { log };

/**
 * Gives what writes entries of an application. They all have the common fields, which take
 * precedence.
 */
export function loggerOf(owner: object, common: LogFields = {}): Logger {
  return { log: (level, message, fields) => log(level, message, { ...fields, ...common }, owner) };
}

/**
 * Makes a function take the entries of an application.
 *
 * @param owner The application.
 * @param take Gets each entry. What it throws is logged on stderr, with the entry.
 * @param answer Answers the application's requests. It has two parameters, and so has the result:
 * Deno passes no request to a handler that declares none.
 * @returns The same, which makes entries belong to the application.
 */
export function takeLogOf<Asked, Info, Result>(
  owner: object,
  take: TakeEntry,
  answer: (request: Asked, info?: Info) => Result,
): (request: Asked, info?: Info) => Result {
  owners ??= new (nodeAsyncHooks().AsyncLocalStorage)();
  takers.set(owner, take);
  // A request that the function makes would else come to it again, without end.
  return (request, info) =>
    owners?.getStore() === TAKING ? answer(request, info) : logFor(owner, () => answer(request, info));
}

/** Runs a function for an application: what it logs then, and later, belongs to the application. */
export function logFor<Result>(owner: object, run: () => Result): Result {
  return owners ? owners.run(owner, run) : run();
}

/**
 * Begins work for all requests, which one of them is the first to need. It belongs to no request,
 * but its entries belong to the same application.
 */
export function detached<Result>(work: () => Result | Promise<Result>): Promise<Result> {
  const owner = owners?.getStore();
  return outsideRequests(owner ? () => owners!.run(owner, work) : work);
}

function give(take: TakeEntry, entry: LogEntry): void {
  const fail = (error: unknown): void => {
    write(entry);
    write({ ...entry, level: "error", message: "The log of the App failed", fields: { error: toLogValue(error) } });
  };
  try {
    const taken = owners!.run(TAKING, () => take(entry));
    if (taken instanceof Promise) taken.catch(fail);
  } catch (error) {
    fail(error);
  }
}

function redactEntry({ message, fields, ...rest }: LogEntry): LogEntry {
  const text = JSON.stringify(fields);
  const redacted = redactText(text);
  return { ...rest, message: redactText(message), fields: redacted === text ? fields : JSON.parse(redacted) };
}

function write({ time, level, message, fields }: LogEntry): void {
  form ??= readVariable("WEBFW_LOG") ?? "";
  const text = form === "json"
    ? toJsonLine(time, level, message, fields)
    : "error" in fields && Deno.stderr.isTerminal()
    ? toTerminalText(time, level, message, fields, form === "full")
    : toTextLine(time, level, message, fields);
  const bytes = encoder.encode(redactText(text) + "\n");
  try {
    for (let written = 0; written < bytes.length;) {
      written += Deno.stderr.writeSync(bytes.subarray(written));
    }
  } catch {
    // Its reader has gone, or the disk is full: no request may fail because of that.
  }
}

/**
 * Suppresses the platform's next warning that starts with a text.
 *
 * @returns True, so that the caller can remember the call.
 */
export function muteNextWarning(start: string): true {
  const { warn } = console;
  const filtered = (...parts: unknown[]): void => {
    const [first] = parts;
    if (typeof first !== "string" || !first.startsWith(start)) return warn.apply(console, parts);
    if (console.warn === filtered) console.warn = warn;
  };
  console.warn = filtered;
  return true;
}

/**
 * Writes entries of the log that say where they come from. Those of `request.log` have its
 * `request_id`; those of a consumer have `topic`, `consumer`, `message_id` and `attempt`; those of
 * a cron have `cron` and `scheduled`; those of `app.log` have nothing of that. With OpenTelemetry,
 * each has its `trace_id`. They go where the application's entries go. Nothing that is logged makes
 * these functions throw.
 *
 * @category Applications
 */
export interface Log {
  /** Writes what happens in good order. */
  readonly info: WriteEntry;
  /** Writes what somebody should look at some day. */
  readonly warn: WriteEntry;
  /** Writes a failure. The field `error` may be what was thrown. */
  readonly error: WriteEntry;
}

/**
 * Writes an entry.
 *
 * @param message What happened.
 * @param fields Values by name. Objects are written as JSON, errors with their stack and causes,
 * and undefined values are left out.
 *
 * @category Applications
 */
export type WriteEntry = (message: string, fields?: Readonly<Record<string, unknown>>) => void;

/** Makes a log whose entries are written by a logger. */
export function makeLog(logger: Logger): Log {
  const writer = (level: LogLevel): WriteEntry => (message, fields) => {
    logger.log(level, toText(message), ownValues(fields));
  };
  return { info: writer("info"), warn: writer("warn"), error: writer("error") };
}

function toText(message: unknown): string {
  const value = toLogValue(message);
  return typeof value === "string" ? value : JSON.stringify(value);
}

/** A copy, because the getters of an object may throw. An error is the field `error`. */
function ownValues(fields: Readonly<Record<string, unknown>> = {}): Readonly<Record<string, unknown>> {
  try {
    // The callback of `catch` gets `any`, so this compiles.
    if (fields instanceof Error) return { error: fields };
    return Object.fromEntries(Object.keys(fields).map((name) => [name, valueOf(fields, name)]));
  } catch {
    // The traps of a proxy.
    return {};
  }
}

function valueOf(fields: Readonly<Record<string, unknown>>, name: string): unknown {
  try {
    return fields[name];
  } catch (error) {
    return error;
  }
}

/** The least time between two entries of a {@linkcode ThrottledLog}, in milliseconds. */
const PAUSE = 60_000;

/** Writes one entry for many messages: the first at once, later ones together. */
export class ThrottledLog {
  readonly #level: "warn" | "error";
  readonly #text: string;
  #unlogged = 0;
  #loggedAt = -Infinity;

  constructor(level: "warn" | "error", text: string) {
    this.#level = level;
    this.#text = text;
  }

  /**
   * Counts messages, and logs them if the last entry is a minute old.
   *
   * @param fields Describe the last of them.
   */
  note(count: number, fields: LogFields): void {
    this.#unlogged += count;
    const now = performance.now();
    if (now - this.#loggedAt < PAUSE) return;
    log(this.#level, this.#text, { ...fields, messages: this.#unlogged });
    this.#unlogged = 0;
    this.#loggedAt = now;
  }
}
