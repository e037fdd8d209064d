/** The framework's log on stderr: a line for each entry, and more for errors on a terminal. */
import { redactText } from "./redaction.ts";
import { readVariable } from "./runtime.ts";
import { traceFields } from "./telemetry.ts";

/** The severity of an entry. */
type LogLevel = "info" | "warn" | "error";

/** The values of an entry. */
type LogFields = Readonly<
  Record<string, string | number | boolean | undefined>
>;

// Control characters and the Unicode line separators: a client must not be able to forge a line.
// deno-lint-ignore no-control-regex
const UNSAFE = /[\u0000-\u001f\u007f-\u009f\u2028\u2029]/g;

/** The folder of the framework; undefined in a bundle. */
const FRAMEWORK = import.meta.url.endsWith("/src/log.ts") ? import.meta.url.slice(0, -"log.ts".length) : undefined;

/** How many characters of a long description are kept: of its beginning, and of its end, a stack. */
const MAX_BEGIN = 12_000;
const MAX_END = 4_000;

const encoder = new TextEncoder();
let asJson: boolean | undefined;

/**
 * Writes one entry to stderr: a readable line, or a JSON object if the environment variable
 * `WEBFW_LOG` is `json`. On a terminal, the lines below an error show its message, its causes, and
 * the stack frames of the application's own files. Where OpenTelemetry is on, each entry has the
 * trace and the span that it belongs to.
 *
 * @param level The severity.
 * @param message What happened.
 * @param fields The values of the entry.
 */
export function log(
  level: LogLevel,
  message: string,
  fields: LogFields = {},
): void {
  asJson ??= readVariable("WEBFW_LOG") === "json";
  const all = { ...fields, ...traceFields() };
  const line = asJson ? toJsonLine(level, message, all) : toText(level, message, all);
  const bytes = encoder.encode(redactText(line) + "\n");
  for (let written = 0; written < bytes.length;) {
    written += Deno.stderr.writeSync(bytes.subarray(written));
  }
}

/**
 * Describes a thrown value with its stack and causes, for a field of an entry. What is longer than
 * 16,000 characters is cut in the middle. It never throws.
 */
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

function shorten(text: string): string {
  if (text.length <= MAX_BEGIN + MAX_END) return text;
  return `${text.slice(0, MAX_BEGIN).toWellFormed()} … ${text.slice(-MAX_END).toWellFormed()}`;
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
  // Indented, so that none of these lines looks like an entry.
  const below = ownFrames(error).map((line) => `\n  ${escapeUnsafe(line)}`);
  return toTextLine(level, message, fields) + below.join("");
}

/**
 * The owners of stack frames. Frames of packages are shown if there are none of the application;
 * those of the framework and the runtime are never shown.
 */
const OWN = 0;
const OF_PACKAGE = 1;
const OF_FRAMEWORK = 2;

/**
 * A stack frame as `Deno.inspect` writes it, or its line for frames shared with the cause. After
 * the last frame, the properties of the error or the next error can begin.
 */
const FRAME = /^\s+(?:at (.*?)|\.{3} \d+ lines matching cause stack trace \.{3})( \{|,)?$/;

/** The lines of a described error without the frames that are not shown. */
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
