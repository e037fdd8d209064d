/** The text of log entries: one line, and more for errors on a terminal. */
import { redactText } from "./redaction.ts";

export type LogLevel = "info" | "warn" | "error";

/** @ignore A JSON value in an entry. */
export type LogValue = string | number | boolean | null | readonly LogValue[] | { readonly [name: string]: LogValue };

export type LogValues = Readonly<Record<string, LogValue>>;

// Control characters, Unicode line separators and direction marks: no value may forge a line.
// deno-lint-ignore no-control-regex
const UNSAFE = /[\u0000-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/g;

/** The folder of the framework or its bundles; undefined in a program's bundle. */
const FRAMEWORK = /^.+\/src\/(?=log\/log_text\.ts$)|^.+\/@webfw\/core\/[^/]+\/dist\//.exec(import.meta.url)?.[0];

/** Of a long string, the beginning and the end, such as a stack, are kept. */
const MAX_BEGIN = 12_000;
const MAX_END = 4_000;

/** The stack and causes of a thrown value, at most 16,000 characters. Never throws. */
export function describeError(thrown: unknown): string {
  try {
    return shorten(
      thrown instanceof Error
        ? Deno.inspect(thrown, { colors: false })
        : `Thrown: ${Deno.inspect(thrown, { colors: false, depth: 1 })}`,
    );
  } catch {
    return "Thrown: a value that cannot be described";
  }
}

/**
 * Objects become JSON, errors their description. Long values are cut in the middle. Never throws.
 */
export function toLogValue(value: unknown): LogValue {
  switch (typeof value) {
    case "string":
      return shorten(value);
    case "number":
      return Number.isFinite(value) ? value : String(value);
    case "boolean":
      return value;
    case "object":
      return value === null ? null : objectValue(value);
    default:
      return shorten(toText(value));
  }
}

function toText(value: unknown): string {
  try {
    return String(value);
  } catch {
    // A function may have its own `toString`.
    return `a ${typeof value}`;
  }
}

function objectValue(value: object): LogValue {
  try {
    if (value instanceof Error) return describeError(value);
    const text = JSON.stringify(value, (_name, part) => {
      if (typeof part === "bigint") return String(part);
      return part instanceof Error ? describeError(part) : part;
    });
    return text.length > MAX_BEGIN + MAX_END ? shorten(text) : JSON.parse(text);
  } catch {
    // It has cycles, or its methods throw.
    return describeError(value).replace(/^Thrown: /, "");
  }
}

export function toJsonLine(time: Date, level: LogLevel, message: string, fields: LogValues): string {
  return escapeUnsafe(JSON.stringify({ ...fields, time: time.toISOString(), level, message }));
}

export function toTextLine(time: Date, level: LogLevel, message: string, fields: LogValues): string {
  let line = `${time.toISOString()} ${level.toUpperCase()} ${message}`;
  for (const [name, value] of Object.entries(fields)) line += ` ${quote(name)}=${quote(value)}`;
  return escapeUnsafe(line);
}

/** An error follows below the line, with all frames if `isFull`. */
export function toTerminalText(
  time: Date,
  level: LogLevel,
  message: string,
  { error, ...fields }: LogValues,
  isFull: boolean,
): string {
  if (typeof error !== "string") {
    return toTextLine(time, level, message, error === undefined ? fields : { ...fields, error });
  }
  // Indented, so that none of these lines looks like an entry.
  const below = (isFull ? error.split("\n") : ownFrames(error)).map((line) => `\n  ${escapeUnsafe(line)}`);
  return toTextLine(time, level, message, fields) + below.join("");
}

/** Frames of packages are shown if the application has none. */
const OWN = 0;
const OF_PACKAGE = 1;
const OF_FRAMEWORK = 2;

/** A stack frame of `Deno.inspect`. The properties or the cause can follow the last one. */
const FRAME = /^\s+(?:at (.*?)|\.{3} \d+ lines matching cause stack trace \.{3})( \{|,)?$/;

/** The lines of an error, without the frames that are not shown. */
export function ownFrames(description: string): string[] {
  const lines = description.split("\n").map((line) => {
    const found = FRAME.exec(line);
    return { line, rest: found?.[2] ?? "", rank: found ? rankOf(found[1]) : undefined };
  });
  const shown = Math.min(OF_PACKAGE, ...lines.map(({ rank = OF_PACKAGE }) => rank));
  const kept: string[] = [];
  for (const { line, rank, rest } of lines) {
    if (rank === undefined || rank <= shown) kept.push(line);
    else kept.push((kept.pop() ?? "") + rest);
  }
  return kept;
}

function rankOf(frame: string | undefined): number {
  if (
    frame === undefined || /(?:^|\(|async )(?:ext|node|deno|data):|<anonymous>|\bnative\b|\(index \d+\)/.test(frame)
  ) return OF_FRAMEWORK;
  if (FRAMEWORK !== undefined && frame.includes(FRAMEWORK)) return OF_FRAMEWORK;
  return /\/node_modules\/|\/npm\/registry|https?:\/\//.test(frame) ? OF_PACKAGE : OWN;
}

function shorten(text: string): string {
  if (text.length <= MAX_BEGIN + MAX_END) return text;
  return `${text.slice(0, MAX_BEGIN).toWellFormed()} … ${text.slice(-MAX_END).toWellFormed()}`;
}

function quote(value: LogValue): string {
  if (typeof value === "number" || typeof value === "boolean") return String(value);
  return typeof value === "string" && /^[\w./:@-]+$/.test(value) ? value : JSON.stringify(value);
}

function escapeUnsafe(text: string): string {
  return text.replace(
    UNSAFE,
    (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}

/** Of an error's text for operators. */
export const MAX_ERROR_BYTES = 1024;

/** The message of a thrown value, cut after so many bytes of UTF-8. */
export function errorText(thrown: unknown, maxBytes: number = MAX_ERROR_BYTES): string {
  const text = redactText(describe(thrown)).toWellFormed();
  const { read } = new TextEncoder().encodeInto(text, new Uint8Array(maxBytes));
  return text.slice(0, read);
}

function describe(thrown: unknown): string {
  try {
    if (thrown instanceof Error) return String(thrown.message) || String(thrown.name);
    if (typeof thrown !== "object" || thrown === null) return String(thrown);
    const { message } = thrown as { message?: unknown };
    // A plain object would be "[object Object]".
    return typeof message === "string" ? message : Deno.inspect(thrown, { colors: false, depth: 0 });
  } catch {
    return "a value that cannot be described";
  }
}
