/** The log: entries go to stderr, or to a function of the application. */
import { outsideRequests } from "../base/async_context.ts";
import { type LogLevel, type LogValue, toJsonLine, toLogValue, toTerminalText, toTextLine } from "./log_text.ts";
import { redactText } from "./redaction.ts";
import { nodeAsyncHooks, readVariable } from "../base/runtime.ts";
import { traceFields } from "./telemetry.ts";

export { describeError } from "./log_text.ts";

/** Undefined values are left out. */
type LogFields = Readonly<Record<string, unknown>>;

/**
 * An entry of the log, for the option `log` of an application. All values are JSON.
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
   * The values: `request_id` of a request, `trace_id` and `span_id` with OpenTelemetry, and `error`
   * as text with stack and causes.
   */
  readonly fields: Readonly<Record<string, LogValue>>;
}

/** The logger of a request adds its id. */
export interface Logger {
  log(level: LogLevel, message: string, fields?: LogFields): void;
}

type ReceiveEntry = (entry: LogEntry) => unknown;

interface Owners {
  getStore(): object | undefined;
  run<Result>(owner: object, run: () => Result): Result;
}

const receivers = new WeakMap<object, ReceiveEntry>();
/** Sees all entries; undefined where no application shows its board. */
let observer: ((entry: LogEntry) => void) | undefined;
/** The application of the running code; undefined until one has a function. */
let owners: Owners | undefined;
/** The owner of entries that such a function logs: they go to stderr, not back to it. */
const RECEIVING: object = {};

const encoder = new TextEncoder();
let form: string | undefined;

/**
 * Writes an entry: on stderr a line, or JSON with the environment variable `WEBFW_LOG=json`. On a
 * terminal, an error follows on lines of its own, with its causes and the application's stack
 * frames, or all frames with `WEBFW_LOG=full`.
 *
 * @param owner The application. By default that of the running code.
 */
export function log(level: LogLevel, message: string, fields?: LogFields, owner?: object): void {
  const values: Record<string, LogValue> = {};
  for (const [name, value] of Object.entries({ ...fields, ...traceFields() })) {
    if (value !== undefined) values[name] = toLogValue(value);
  }
  const entry: LogEntry = { time: new Date(), level, message, fields: values };
  observer?.(redactEntry(entry));
  const current = owners?.getStore();
  const to = current === RECEIVING ? RECEIVING : owner ?? current;
  const receive = to && receivers.get(to);
  if (receive) deliver(receive, redactEntry(entry));
  else write(entry);
}

/** Also passes each entry to a function, without secrets. It must not throw. */
export function observeEntries(observe: typeof observer): void {
  observer = observe;
}

/** For entries without a request. */
export const PROCESS_LOGGER: Logger = { log };

/** The common fields take precedence. */
export function loggerOf(owner: object, common: LogFields = {}): Logger {
  return { log: (level, message, fields) => log(level, message, { ...fields, ...common }, owner) };
}

/**
 * Sets the function that receives the entries of an application.
 *
 * @param receive Its errors go to stderr, with the entry.
 * @param answer Handles requests. It has two parameters, and so has the result: Deno passes no
 * request to a handler without parameters.
 * @returns The handler, with entries that belong to the application.
 */
export function setEntryReceiver<Asked, Info, Result>(
  owner: object,
  receive: ReceiveEntry,
  answer: (request: Asked, info?: Info) => Result,
): (request: Asked, info?: Info) => Result {
  owners ??= new (nodeAsyncHooks().AsyncLocalStorage)();
  receivers.set(owner, receive);
  // A request of the function itself would be logged without end.
  return (request, info) =>
    owners?.getStore() === RECEIVING ? answer(request, info) : logFor(owner, () => answer(request, info));
}

/** Entries of the function, now and later, belong to the application. */
export function logFor<Result>(owner: object, run: () => Result): Result {
  return owners ? owners.run(owner, run) : run();
}

/** Starts work that belongs to no request, but its entries to the application. */
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
    // The reader is gone, or the disk is full: requests must not fail.
  }
}

/** Suppresses the platform's next warning that starts with a string. */
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
 * Writes entries with their origin: `request_id` of `request.log`; `topic`, `consumer`,
 * `message_id` and `attempt` of a consumer; `cron` and `scheduled` of a cron. With OpenTelemetry,
 * each has its `trace_id`. Never throws.
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
 * @param fields Values by name. Objects are JSON, errors have stack and causes, undefined values
 * are omitted.
 * @ignore
 */
export type WriteEntry = (message: string, fields?: Readonly<Record<string, unknown>>) => void;

export function makeLog(logger: Logger): Log {
  const writer = (level: LogLevel): WriteEntry => (message, fields) => {
    const value = toLogValue(message);
    logger.log(level, typeof value === "string" ? value : JSON.stringify(value), ownValues(fields));
  };
  return { info: writer("info"), warn: writer("warn"), error: writer("error") };
}

/** A copy: getters may throw. An error becomes the field `error`. */
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

/** In milliseconds. */
const PAUSE = 60_000;

/** Writes the first entry at once, later ones together. */
export class ThrottledLog {
  readonly #level: "warn" | "error";
  readonly #text: string;
  #unlogged = 0;
  #loggedAt = -Infinity;

  constructor(level: "warn" | "error", text: string) {
    this.#level = level;
    this.#text = text;
  }

  /** @param fields Describe the last of the messages. */
  note(count: number, fields: LogFields): void {
    this.#unlogged += count;
    const now = performance.now();
    if (now - this.#loggedAt < PAUSE) return;
    log(this.#level, this.#text, { ...fields, messages: this.#unlogged });
    this.#unlogged = 0;
    this.#loggedAt = now;
  }
}
