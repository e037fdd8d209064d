/**
 * Log entries of the framework on stderr. Each is one line, whatever the text. On a terminal,
 * errors have lines below it.
 */
import { readVariable } from "./runtime.ts";

/** How much an entry matters. */
export type LogLevel = "info" | "warn" | "error";

/** Values that go with an entry. */
export type LogFields = Readonly<
  Record<string, string | number | boolean | undefined>
>;

// Control characters, and the two line separators that some viewers break at: a client must not be able to forge a line.
// deno-lint-ignore no-control-regex
const UNSAFE = /[\u0000-\u001f\u007f-\u009f\u2028\u2029]/g;

/** The folder of the framework; unknown where a bundler has put it into the application's file. */
const FRAMEWORK = import.meta.url.endsWith("/src/log.ts") ? new URL(".", import.meta.url).href : undefined;

const encoder = new TextEncoder();
let asJson: boolean | undefined;

/**
 * Writes one entry to stderr: a readable line, or one JSON object where the environment variable
 * `WEBFW_LOG` is `json`. On a terminal, an error stands below the line: its message, its causes,
 * and the calls of the application's own files.
 *
 * @param level How much it matters.
 * @param message What happened.
 * @param fields Values that go with it.
 */
export function log(
  level: LogLevel,
  message: string,
  fields: LogFields = {},
): void {
  asJson ??= readVariable("WEBFW_LOG") === "json";
  const line = asJson ? toJsonLine(level, message, fields) : toText(level, message, fields);
  const bytes = encoder.encode(line + "\n");
  for (let written = 0; written < bytes.length;) {
    written += Deno.stderr.writeSync(bytes.subarray(written));
  }
}

/** The text of a thrown value with its stack and causes, for a field of an entry. It never throws, whatever the value does. */
export function describeError(thrown: unknown): string {
  try {
    return thrown instanceof Error
      ? Deno.inspect(thrown, { colors: false })
      : `Thrown: ${Deno.inspect(thrown, { colors: false, depth: 1 })}`;
  } catch {
    return "Thrown: a value that cannot be described";
  }
}

/**
 * Keeps back the next warning of the platform that begins with a text.
 *
 * @returns Always true, to note that it has been done.
 */
export function muteNextWarning(start: string): true {
  const { warn } = console;
  const filtered = (...parts: unknown[]): void => {
    const [first] = parts;
    // Not every value can be made a text.
    if (typeof first !== "string" || !first.startsWith(start)) return warn.apply(console, parts);
    if (console.warn === filtered) console.warn = warn;
  };
  console.warn = filtered;
  return true;
}

function toJsonLine(
  level: LogLevel,
  message: string,
  fields: LogFields,
): string {
  return escapeUnsafe(
    JSON.stringify({
      ...fields,
      time: new Date().toISOString(),
      level,
      message,
    }),
  );
}

function toText(level: LogLevel, message: string, { error, ...fields }: LogFields): string {
  if (typeof error !== "string" || !Deno.stderr.isTerminal()) {
    return toTextLine(level, message, error === undefined ? fields : { ...fields, error });
  }
  // Indented, so that no line of it can pass for an entry.
  const below = ownFrames(error).map((line) => `\n  ${escapeUnsafe(line)}`);
  return toTextLine(level, message, fields) + below.join("");
}

/**
 * The owner of a stack frame. Frames of packages are shown where the application has none, those of
 * the framework never.
 */
const OWN = 0;
const OF_PACKAGE = 1;
const OF_FRAMEWORK = 2;

/**
 * A frame as `Deno.inspect` writes it, or the frames that an error shares with its cause. Behind
 * the last one of an error its properties can begin, or the next error follow.
 */
const FRAME = /^\s+(?:at (.*?)|\.{3} \d+ lines matching cause stack trace \.{3})( \{|,)?$/;

/** The lines of a described error without the frames that say nothing of the application. */
function ownFrames(description: string): string[] {
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

function toTextLine(
  level: LogLevel,
  message: string,
  fields: LogFields,
): string {
  let line = `${new Date().toISOString()} ${level.toUpperCase()} ${message}`;
  for (const [key, value] of Object.entries(fields)) {
    if (value !== undefined) {
      line += ` ${key}=${typeof value === "string" ? quote(value) : value}`;
    }
  }
  return escapeUnsafe(line);
}

function quote(text: string): string {
  return /^[\w./:@-]+$/.test(text) ? text : JSON.stringify(text);
}

function escapeUnsafe(text: string): string {
  return text.replace(
    UNSAFE,
    (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}
