/** Checks of options objects: an unknown name is an error and never dropped. */

/**
 * The names of all options of a type. The compiler refuses a list that misses one. Messages name
 * them in this order.
 */
export type OptionNames<Options> = Readonly<Record<keyof Options, unknown>>;

/**
 * Refuses unknown options.
 *
 * Inherited names count like own ones, since options are read that way; those of
 * `Object.prototype` do not. A known option may be `undefined`, which means absent; an unknown one
 * may not. Symbols are ignored: no option has a symbol as its name.
 *
 * @param options What was given.
 * @param known The names of the options.
 * @param action What is being done, for messages.
 * @param place What stands before each name in messages, such as `tool.`.
 * @throws {TypeError} When it is no object, or has an unknown name.
 */
export function checkOptions<Options extends object>(
  options: Options,
  known: OptionNames<Options>,
  action: string,
  place = "",
): void {
  if (typeof options !== "object" || options === null || Array.isArray(options)) {
    throw new TypeError(`Cannot ${action}: the options must be an object, got ${kindOf(options)}`);
  }
  for (const name in options) {
    if (Object.hasOwn(known, name)) continue;
    if (name in Object.prototype && !Object.hasOwn(options, name)) continue;
    const names = Object.keys(known);
    throw new TypeError(
      `Cannot ${action}: the option "${place}${name}" is unknown, the nearest is "${place}${
        nearest(name, names)
      }"; there are ${names.join(", ")}`,
    );
  }
}

/**
 * Refuses unknown options, and copies the others, also inherited ones, so that the copy can be
 * spread.
 *
 * @param options What was given.
 * @param known The names of the options.
 * @param action What is being done, for messages.
 * @param place What stands before each name in messages, such as `tool.`.
 * @throws {TypeError} When it is no object, or has an unknown name.
 */
export function readOptions<Options extends object>(
  options: Options,
  known: OptionNames<Options>,
  action: string,
  place = "",
): Options {
  checkOptions(options, known, action, place);
  const names = Object.keys(known) as (keyof Options)[];
  const given = names.map((name) => [name, options[name]] as const).filter(([, value]) => value !== undefined);
  return Object.fromEntries(given) as Options;
}

/** The known name nearest to a misspelt one; undefined where none has half of its letters. */
export function near(word: string, candidates: readonly string[]): string | undefined {
  const found = nearest(word, candidates);
  return strangeness(word, found) <= word.length / 2 ? found : undefined;
}

/** The known name nearest to a misspelt one; the first of several that are equally near. */
export function nearest(word: string, candidates: readonly string[]): string {
  return candidates.reduce((best, candidate) =>
    strangeness(word, candidate) < strangeness(word, best) ? candidate : best
  );
}

/**
 * The edit distance without regard to case. A name that is a part of the other one, as `host` of
 * `hostname`, is nearer than any other.
 */
function strangeness(word: string, candidate: string): number {
  const [one, other] = [word.toLowerCase(), candidate.toLowerCase()];
  const isPart = Math.min(one.length, other.length) > 2 && (one.includes(other) || other.includes(one));
  return isPart ? distance(one, other) / 1000 : distance(one, other);
}

/** The Levenshtein distance. */
function distance(from: string, to: string): number {
  let row = Array.from({ length: to.length + 1 }, (_, column) => column);
  for (const [line, letter] of [...from].entries()) {
    const next = [line + 1];
    for (const [column, other] of [...to].entries()) {
      next.push(Math.min(row[column + 1]! + 1, next[column]! + 1, row[column]! + (letter === other ? 0 : 1)));
    }
    row = next;
  }
  return row.at(-1)!;
}

function kindOf(value: unknown): string {
  if (value === null) return "null";
  return Array.isArray(value) ? "a list" : typeof value;
}
