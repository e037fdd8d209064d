/** The log: entries go to stderr, or to the function of the application that they belong to. */
import { outsideRequests } from "../base/async_context.ts";
import { type LogLevel, type LogValue, toJsonLine, toLogValue, toTerminalText, toTextLine } from "./log_text.ts";
import { redactText } from "./redaction.ts";
import { nodeAsyncHooks, readVariable } from "../base/runtime.ts";
import { traceFields } from "./telemetry.ts";

export { describeError } from "./log_text.ts";

/** Undefined values are left out. */
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
   * The values of the entry: `request_id` if it belongs to a request, `trace_id` and `span_id` with
   * OpenTelemetry, and `error`, an error as text with its stack and its causes.
   */
  readonly fields: Readonly<Record<string, LogValue>>;
}

/** Writes entries. That of a request adds the id of the request. */
export interface Logger {
  log(level: LogLevel, message: string, fields?: LogFields): void;
}

/** Receives the entries of an application. */
type ReceiveEntry = (entry: LogEntry) => unknown;

/** The part of Node.js's `AsyncLocalStorage` that is used. */
interface Owners {
  getStore(): object | undefined;
  run<Result>(owner: object, run: () => Result): Result;
}

const receivers = new WeakMap<object, ReceiveEntry>();
/** The application for which code runs; undefined until an application has a function. */
let owners: Owners | undefined;
/**
 * The owner of what such a function logs itself: those entries go to stderr, not round and round.
 */
const RECEIVING: object = {};

const encoder = new TextEncoder();
let form: string | undefined;

/**
 * Writes one entry. On stderr it is a readable line, or a JSON object if the environment variable
 * `WEBFW_LOG` is `json`. On a terminal, the lines below an error show its message, its causes, and
 * the stack frames of the application's own files, or all with `WEBFW_LOG=full`. With
 * OpenTelemetry, each entry has its trace and span.
 *
 * @param owner The application that it belongs to. The default is the one for which code runs.
 */
export function log(level: LogLevel, message: string, fields?: LogFields, owner?: object): void {
  const values: Record<string, LogValue> = {};
  for (const [name, value] of Object.entries({ ...fields, ...traceFields() })) {
    if (value !== undefined) values[name] = toLogValue(value);
  }
  const current = owners?.getStore();
  const to = current === RECEIVING ? RECEIVING : owner ?? current;
  const receive = to && receivers.get(to);
  if (receive) deliver(receive, redactEntry({ time: new Date(), level, message, fields: values }));
  else write({ time: new Date(), level, message, fields: values });
}

/** Writes entries that belong to no request. */
export const PROCESS_LOGGER: Logger = { log };

/** A logger of an application. All entries have the common fields, which take precedence. */
export function loggerOf(owner: object, common: LogFields = {}): Logger {
  return { log: (level, message, fields) => log(level, message, { ...fields, ...common }, owner) };
}

/**
 * Sets the function that receives the entries of an application.
 *
 * @param receive What it throws is logged on stderr, with the entry.
 * @param answer Handles the application's requests. It has two parameters, and so has the result:
 * Deno passes no request to a handler that declares none.
 * @returns The same, with entries that belong to the application.
 */
export function setEntryReceiver<Asked, Info, Result>(
  owner: object,
  receive: ReceiveEntry,
  answer: (request: Asked, info?: Info) => Result,
): (request: Asked, info?: Info) => Result {
  owners ??= new (nodeAsyncHooks().AsyncLocalStorage)();
  receivers.set(owner, receive);
  // A request that the function makes would come back to it without end.
  return (request, info) =>
    owners?.getStore() === RECEIVING ? answer(request, info) : logFor(owner, () => answer(request, info));
}

/** Runs a function for an application: what it logs, now and later, belongs to the application. */
export function logFor<Result>(owner: object, run: () => Result): Result {
  return owners ? owners.run(owner, run) : run();
}

/**
 * Starts work for all requests, though one is the first to need it. It belongs to no request, but
 * its entries belong to the same application.
 */
export function detached<Result>(work: () => Result | Promise<Result>): Promise<Result> {
  const owner = owners?.getStore();
  return outsideRequests(owner ? () => owners!.run(owner, work) : work);
}

function deliver(receive: ReceiveEntry, entry: LogEntry): void {
  const fail = (error: unknown): void => {
    write(entry);
    write({ ...entry, level: "error", message: "The log of the App failed", fields: { error: toLogValue(error) } });
  };
  try {
    const received = owners!.run(RECEIVING, () => receive(entry));
    if (received instanceof Promise) received.catch(fail);
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
    // The reader is gone, or the disk is full: no request may fail because of that.
  }
}

/**
 * Suppresses the platform's next warning that starts with a string.
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
 * Writes entries of the log with their origin: `request_id` for those of `request.log`; `topic`,
 * `consumer`, `message_id` and `attempt` for a consumer; `cron` and `scheduled` for a cron; none
 * for `app.log`. With OpenTelemetry, each has its `trace_id`. Nothing that is logged makes these
 * functions throw.
 *
 * @category Applications
 */
export interface Log {
  /** Writes information. */
  readonly info: WriteEntry;
  /** Writes a warning. */
  readonly warn: WriteEntry;
  /** Writes a failure. The field `error` may be the thrown value. */
  readonly error: WriteEntry;
}

/**
 * Writes an entry.
 *
 * @param message What happened.
 * @param fields Values by name. Objects are written as JSON, errors with their stack and causes,
 * and undefined values are left out.
 * @ignore
 */
export type WriteEntry = (message: string, fields?: Readonly<Record<string, unknown>>) => void;

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

/** A copy, because the getters of an object may throw. An error becomes the field `error`. */
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
