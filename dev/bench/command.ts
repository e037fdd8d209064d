// How the measuring programs read their arguments and end.

/** An argument that cannot be understood. */
export class UsageError extends Error {
  override name = "UsageError";
}

/** Refuses an unknown option. It is the option `unknown` of `parseArgs`. */
export function refuseUnknown(argument: string): never {
  throw new UsageError(`Cannot read the arguments: unknown "${argument}"`);
}

/**
 * Reads a whole number above 0.
 *
 * @throws {UsageError} if the text is anything else
 */
export function readCount(text: string): number {
  if (/^[1-9]\d*$/.test(text)) return Number(text);
  throw new UsageError(`Cannot read the arguments: "${text}" is not a count`);
}

/**
 * Reads a number above 0.
 *
 * @throws {UsageError} if the text is anything else
 */
export function readRatio(text: string): number {
  const value = Number(text);
  if (value > 0 && value < Infinity) return value;
  throw new UsageError(`Cannot read the arguments: "${text}" is not a ratio`);
}

/**
 * Reads a time in milliseconds.
 *
 * @throws {UsageError} if the text is no time such as 500ms or 2s
 */
export function readDuration(text: string): number {
  const [, amount, unit] = /^(\d+(?:\.\d+)?)(ms|s)$/.exec(text) ?? [];
  const value = Number(amount) * (unit === "s" ? 1000 : 1);
  if (value > 0) return value;
  throw new UsageError(`Cannot read the arguments: "${text}" is not a time`);
}

/** Reads names that are separated by commas. */
export function readNames(text: string | undefined): string[] {
  return text ? text.split(",") : [];
}

/**
 * The items with these names, in their own order; all if there are no names.
 *
 * @throws {UsageError} if no item has one of the names
 */
export function select<Item extends { name: string }>(
  items: Item[],
  names: string[],
): Item[] {
  const known = items.map(({ name }) => name);
  const unknown = names.find((name) => !known.includes(name));
  if (unknown !== undefined) {
    throw new UsageError(
      `Cannot select "${unknown}": there are only ${known.join(", ")}`,
    );
  }
  return names.length === 0 ? items : items.filter(({ name }) => names.includes(name));
}

/**
 * Runs a program that can be interrupted, and ends the process with the exit code that it returns:
 * 2 for wrong arguments, 130 after Ctrl-C.
 */
export async function runCommand(
  main: (args: string[], signal: AbortSignal) => Promise<number>,
): Promise<never> {
  const abort = new AbortController();
  for (const signal of ["SIGINT", "SIGTERM"] as const) {
    Deno.addSignalListener(signal, () => {
      if (abort.signal.aborted) Deno.exit(130);
      console.error("Interrupted: what runs now ends first. Interrupt again to end at once.");
      abort.abort(new Error(signal));
    });
  }
  try {
    Deno.exit(await main(Deno.args, abort.signal));
  } catch (error) {
    if (abort.signal.aborted) Deno.exit(130);
    if (!(error instanceof UsageError)) throw error;
    console.error(error.message);
    Deno.exit(2);
  }
}
