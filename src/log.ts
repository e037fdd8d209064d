/** Log entries of the framework: one line each on stderr, whatever the text. */

/** How much an entry matters. */
export type LogLevel = "info" | "warn" | "error";

/** Values that go with an entry. */
export type LogFields = Readonly<
  Record<string, string | number | boolean | undefined>
>;

// Control characters, and the two line separators that some viewers break at: a client must not be able to forge a line.
// deno-lint-ignore no-control-regex
const UNSAFE = /[\u0000-\u001f\u007f-\u009f\u2028\u2029]/g;

const encoder = new TextEncoder();
let asJson: boolean | undefined;

/**
 * Writes one entry to stderr: a readable line, or one JSON object where the environment variable `WEBFW_LOG` is `json`.
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
  asJson ??= wantsJson();
  const line = asJson ? toJsonLine(level, message, fields) : toTextLine(level, message, fields);
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
    if (!String(parts[0]).startsWith(start)) return warn.apply(console, parts);
    if (console.warn === filtered) console.warn = warn;
  };
  console.warn = filtered;
  return true;
}

/** Asks for the permission's state first, since an app that may not read the environment must not be stopped by a prompt. */
function wantsJson(): boolean {
  const { state } = Deno.permissions.querySync({
    name: "env",
    variable: "WEBFW_LOG",
  });
  return state === "granted" && Deno.env.get("WEBFW_LOG") === "json";
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
