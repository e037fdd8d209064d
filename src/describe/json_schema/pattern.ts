/**
 * Regular expressions as JSON Schema carries them: the text alone, without flags, read in Unicode mode.
 *
 * What the flags say is written out, so that the pattern matches what the expression matches, in any text of the Basic
 * Multilingual Plane but for KELVIN SIGN and LONG S.
 */

/** A piece of an expression: what stands for itself, an escape, the start of a group, a class, a quantifier. */
const PIECE = new RegExp(
  [
    String.raw`\\u\{[\da-fA-F]+\}|\\u[\da-fA-F]{4}|\\x[\da-fA-F]{2}`,
    String.raw`\\[pP]\{[^}]*\}|\\k<[^>]*>|\\c[a-zA-Z]|\\\d+|\\.`,
    String.raw`\(\?(?:[:=!]|<[=!]|<[^>]*>)|\(\?`,
    String.raw`\{\d+(?:,\d*)?\}\??`,
    String.raw`[^]`,
  ].join("|"),
  "uy",
);

/** Escapes that mean the same everywhere, and in any case of letters. */
const KEPT = /^\\(?:[dDsSnrtvf0^$\\.*+?()[\]{}|]|c[a-zA-Z])$/;

/** Escapes of a character that stand for the character. */
const IDENTITY = /^\\(?:\W|[aeghijloqyzA-CE-OQRT-VX-Z_])$/;
const SYNTAX = /^\\[\^$\\.*+?()[\]{}|]$/;

/** Stands for the end of what can be carried over. */
class Untold extends Error {}

/** Patterns by their expressions: those of valibot are the same in every schema. */
const patterns = new WeakMap<RegExp, { readonly text: string | undefined }>();

/**
 * The pattern of a regular expression.
 *
 * @returns The text; undefined where it would not say the same.
 */
export function patternOf(expression: RegExp): string | undefined {
  let pattern = patterns.get(expression);
  if (!pattern) patterns.set(expression, pattern = { text: write(expression) });
  return pattern.text;
}

function write({ source, flags }: RegExp): string | undefined {
  // A multiline anchor stands at ends of lines, and set notation is none of Unicode mode.
  if (flags.includes("v") || (flags.includes("m") && /[$^]/.test(source))) return undefined;
  try {
    const pattern = new PatternWriter(source, flags).write();
    return new RegExp(pattern, "u") && pattern;
  } catch (error) {
    if (error instanceof Untold || error instanceof SyntaxError) return undefined;
    throw error;
  }
}

/** A pattern that matches a text as it stands. */
export function literalPattern(text: string): string {
  return text.replace(/[\\^$.*+?()[\]{}|]/g, "\\$&");
}

class PatternWriter {
  readonly #pieces: readonly string[];
  readonly #isUnicode: boolean;
  readonly #ignoresCase: boolean;
  readonly #dotsAll: boolean;

  constructor(source: string, flags: string) {
    this.#isUnicode = flags.includes("u");
    this.#ignoresCase = flags.includes("i");
    this.#dotsAll = flags.includes("s");
    // Without Unicode mode, a character beyond the plane is two.
    if (!this.#isUnicode && /[\ud800-\udfff]/.test(source)) throw new Untold();
    this.#pieces = piecesOf(source);
    // Without it, these stand for their letters.
    if (!this.#isUnicode && this.#pieces.some((piece) => /^\\(?:u\{|[pP].)/.test(piece))) throw new Untold();
  }

  write(): string {
    let pattern = "";
    for (let index = 0; index < this.#pieces.length; index++) {
      const piece = this.#pieces[index]!;
      if (piece === "[") {
        const end = this.#pieces.indexOf("]", index + (this.#pieces[index + 1] === "^" ? 2 : 1));
        pattern += this.#class(this.#pieces.slice(index + 1, end));
        index = end;
      } else pattern += this.#piece(piece);
    }
    return pattern;
  }

  #piece(piece: string): string {
    if (piece === "." && this.#dotsAll) return "[\\s\\S]";
    if (piece === "(?") throw new Untold();
    if (piece.startsWith("(?") || piece.startsWith("{") && piece.length > 1) return piece;
    if (!this.#isUnicode && /^[{}\]]$/.test(piece)) return `\\${piece}`;
    const char = charOf(piece);
    if (char === undefined) return this.#escape(piece);
    const cases = this.#casesOf(char);
    return cases.length > 1 ? `[${cases.join("")}]` : plain(piece);
  }

  /** An escape that stands for more than one character, or for none. */
  #escape(piece: string): string {
    if (KEPT.test(piece) || !this.#ignoresCase) return piece;
    if (/^\\[bBwW]$/.test(piece) && !this.#isUnicode) return piece;
    throw new Untold();
  }

  #class(pieces: readonly string[]): string {
    let written = "[";
    for (let index = 0; index < pieces.length; index++) {
      const piece = pieces[index]!;
      const low = charOf(piece);
      if (index === 0 && piece === "^") written += "^";
      else if (low === undefined) written += this.#escape(piece);
      else if (pieces[index + 1] === "-" && pieces[index + 2] !== undefined) {
        const high = charOf(pieces[index + 2]!);
        // A class beside a hyphen makes no range, but only outside of Unicode mode.
        if (high === undefined) throw new Untold();
        written += `${plainInClass(piece)}-${plainInClass(pieces[index + 2]!)}${this.#casesOfRange(low, high)}`;
        index += 2;
      } else {
        const [, ...others] = this.#casesOf(low);
        written += plainInClass(piece) + others.join("");
      }
    }
    return `${written}]`;
  }

  /**
   * The character, and what it is in another case. In Unicode mode, K and S have another one beyond
   * ASCII, which is left out: nobody sends it, and generators of clients stumble over it.
   */
  #casesOf(char: string): string[] {
    if (!this.#ignoresCase) return [char];
    if (/^[a-zA-Z]$/.test(char)) {
      return [char, char === char.toLowerCase() ? char.toUpperCase() : char.toLowerCase()];
    }
    if (char.toLowerCase() !== char || char.toUpperCase() !== char) throw new Untold();
    return [char];
  }

  #casesOfRange(low: string, high: string): string {
    if (!this.#ignoresCase) return "";
    if (high > "\x7f") throw new Untold();
    let cases = "";
    for (const [first, last, to] of [["a", "z", "toUpperCase"], ["A", "Z", "toLowerCase"]] as const) {
      const from = low > first ? low : first;
      const until = high < last ? high : last;
      if (from <= until) cases += `${from[to]()}-${until[to]()}`;
    }
    return cases;
  }
}

function piecesOf(source: string): string[] {
  const pieces: string[] = [];
  let isClass = false;
  for (let index = 0; index < source.length; index += pieces.at(-1)!.length) {
    PIECE.lastIndex = index;
    const piece = PIECE.exec(source)![0];
    // Within a class, groups and quantifiers are characters.
    const kept = isClass && /^[({]/.test(piece) ? piece[0]! : piece;
    pieces.push(kept);
    if (kept === "[") isClass = true;
    if (kept === "]") isClass = false;
  }
  return pieces;
}

/** The one character that a piece stands for; undefined where it stands for something else. */
function charOf(piece: string): string | undefined {
  const code = /^\\(?:x|u\{?)([\da-fA-F]+)\}?$/.exec(piece)?.[1];
  if (code !== undefined) return String.fromCodePoint(Number.parseInt(code, 16));
  if (!piece.startsWith("\\")) return [...piece].length === 1 ? piece : undefined;
  return IDENTITY.test(piece) ? piece[1] : undefined;
}

/** A piece without an escape that Unicode mode has no use for. */
function plain(piece: string): string {
  return IDENTITY.test(piece) && !SYNTAX.test(piece) ? piece[1]! : piece;
}

/** As within a class, where a hyphen means something. */
function plainInClass(piece: string): string {
  return piece === "\\-" ? piece : plain(piece);
}
