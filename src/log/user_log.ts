/** The log, as programs write to it. */
import type { Logger } from "./log.ts";
import { type LogLevel, toLogValue } from "./log_text.ts";

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
