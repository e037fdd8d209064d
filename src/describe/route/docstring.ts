import type { Route } from "../../routing/route.ts";

/**
 * Reads the string literal that opens a function, off its source. The source is JavaScript that an engine has accepted, so this is
 * no parser: it only finds its way past the parameters, whose defaults can hold brackets in text.
 */

const TRIVIA = /(?:\s|\/\/.*|\/\*[^]*?\*\/)*/y;
const QUOTED = /"(?:[^"\\\r\n]|\\(?:\r\n|[^]))*"|'(?:[^'\\\r\n]|\\(?:\r\n|[^]))*'/y;
const PLAIN_TEMPLATE = /`(?:[^`\\$]|\\[^]|\$(?!\{))*`/y;
const TEMPLATE_TEXT = /(?:[^`\\$]|\\[^]|\$(?!\{))*/y;
const REGULAR_EXPRESSION = /\/(?:[^\\/[\r\n]|\\.|\[(?:[^\]\\\r\n]|\\.)*\])+\/[\p{ID_Continue}$]*/yu;
/** Names, keywords and numbers alike. */
const WORD = /(?:[\p{ID_Continue}$\u200c\u200d#]|\\u)+/yu;

/** Words after which an expression begins, so that a slash begins a regular expression. */
const OPERATORS = new Set([
  "await",
  "case",
  "delete",
  "do",
  "else",
  "in",
  "instanceof",
  "new",
  "of",
  "return",
  "throw",
  "typeof",
  "void",
  "yield",
]);

/** What goes on with the expression of the line before. */
const CONTINUATION = /[*/%,?:.<>=&|^([`]|\+(?!\+)|-(?!-)|!=|(?:in|instanceof)(?![\p{ID_Continue}$])/yu;
const LINE_END = /[\n\r\u2028\u2029]/;

/** What the source of a function that opens with a literal has somewhere. Most functions are told by it without a closer look. */
const OPENING = /\{\s*(?:["'`]|\/[/*])/;

/** `"use strict"` and its kind, which speak to engines and bundlers. */
const DIRECTIVE = /^use [a-z]+$/;

const ESCAPE = /\\(?:u\{([\da-f]+)\}|u([\da-f]{4})|x([\da-f]{2})|(\r\n|[^]))/giu;
const ESCAPED: Readonly<Record<string, string>> = {
  n: "\n",
  t: "\t",
  r: "\r",
  b: "\b",
  f: "\f",
  v: "\v",
  0: "\0",
  "\n": "",
  "\r": "",
  "\r\n": "",
  "\u2028": "",
  "\u2029": "",
};

/**
 * The text of the literal that is the first statement of a function: in quotes of any kind, or a template without substitutions.
 * Undefined where the function does not open with one, or its source cannot be had.
 */
// deno-lint-ignore ban-types -- any function has a source
export function openingText(given: Function): string | undefined {
  const source = Function.prototype.toString.call(given);
  if (!OPENING.test(source)) return undefined;
  const scanner = new Scanner(source);
  if (!scanner.enterBody()) return undefined;
  for (;;) {
    const literal = scanner.takeTextStatement();
    if (literal === undefined) return undefined;
    const text = valueOf(literal);
    if (!DIRECTIVE.test(text)) return text;
  }
}

/** A place in a function's source. */
class Scanner {
  readonly #source: string;
  #at = 0;

  constructor(source: string) {
    this.#source = source;
  }

  /** Goes to the first statement of the body. False where the body is an expression, or there is none to be seen. */
  enterBody(): boolean {
    // Before the parameters stand words, and the name of a method, which may be a literal or computed.
    for (;;) {
      this.#take(TRIVIA);
      if (this.#at >= this.#source.length) return false;
      if (this.#skip("=>")) break;
      const isParameters = this.#source[this.#at] === "(";
      this.#skipExpressionPart();
      if (!isParameters) continue;
      this.#take(TRIVIA);
      this.#skip("=>");
      break;
    }
    this.#take(TRIVIA);
    return this.#skip("{");
  }

  /** Takes a literal that is a whole statement. */
  takeTextStatement(): string | undefined {
    this.#take(TRIVIA);
    const literal = this.#take(QUOTED) || this.#take(PLAIN_TEMPLATE);
    return literal !== "" && this.#endStatement() ? literal : undefined;
  }

  /** By the rules of automatic semicolons. */
  #endStatement(): boolean {
    const gap = this.#take(TRIVIA);
    if (this.#skip(";") || this.#source[this.#at] === "}") return true;
    return LINE_END.test(gap) && this.#take(CONTINUATION) === "";
  }

  /** Skips a token, or everything in a pair of brackets. */
  #skipExpressionPart(): void {
    let depth = 0;
    // After a value a slash divides; elsewhere it begins a regular expression.
    let isValue = false;
    do {
      this.#take(TRIVIA);
      const char = this.#source[this.#at];
      if (char === undefined) return;
      if ("([{".includes(char)) {
        depth++;
        this.#at++;
        isValue = false;
      } else if (")]}".includes(char)) {
        depth--;
        this.#at++;
        isValue = true;
      } else isValue = this.#skipToken(isValue);
    } while (depth > 0);
  }

  /** Skips a token that is no bracket; tells whether a value ends with it. */
  #skipToken(isValue: boolean): boolean {
    const word = this.#take(WORD);
    if (word !== "") return !OPERATORS.has(word);
    if (this.#take(QUOTED) !== "") return true;
    if (this.#skip("`")) {
      this.#skipTemplate();
      return true;
    }
    if (!isValue && this.#take(REGULAR_EXPRESSION) !== "") return true;
    if (this.#skip("++") || this.#skip("--")) return isValue;
    if (!this.#skip("=>")) this.#at++;
    return false;
  }

  #skipTemplate(): void {
    for (;;) {
      this.#take(TEMPLATE_TEXT);
      if (!this.#skip("$")) break;
      this.#skipExpressionPart();
    }
    this.#at++;
  }

  #skip(text: string): boolean {
    if (!this.#source.startsWith(text, this.#at)) return false;
    this.#at += text.length;
    return true;
  }

  /** Takes what a sticky expression matches here; empty where it does not. */
  #take(pattern: RegExp): string {
    pattern.lastIndex = this.#at;
    const [text = ""] = pattern.exec(this.#source) ?? [];
    this.#at += text.length;
    return text;
  }
}

/** What a literal stands for. */
function valueOf(literal: string): string {
  const raw = literal.slice(1, -1);
  // A template has line feeds only, whatever ends the lines of the file.
  const text = literal.startsWith("`") ? raw.replace(/\r\n?/g, "\n") : raw;
  return text.replace(ESCAPE, (_, point, unit, byte, char) => {
    const code = point ?? unit ?? byte;
    return code === undefined ? ESCAPED[char] ?? char : String.fromCodePoint(parseInt(code, 16));
  });
}

/**
 * What a route says of itself in words.
 *
 * A handler's own words are read off its source, as it runs: what a minifier has dropped, a template literal for one, is not there.
 */

/** The words of a route. */
export interface Documentation {
  /** What the route does, in a line. */
  readonly summary?: string;
  /** What the route does, at length. */
  readonly description?: string;
}

/**
 * The words of a route. `summary` and `description` of its options win over `doc`, and `doc` over the docstring: the string literal
 * that is the first statement of the handler.
 */
export function documentationOf({ options, handler }: Pick<Route, "options" | "handler">): Documentation {
  const text = options.doc ?? openingText(handler);
  const { summary, description }: Documentation = { ...(text && read(text)), ...given(options) };
  return { ...(summary && { summary }), ...(description && { description }) };
}

/** Leaves out what is there without a value, which would hide what stands below it. */
function given({ summary, description }: Route["options"]): Documentation {
  return { ...(summary !== undefined && { summary }), ...(description !== undefined && { description }) };
}

/** The first line is the summary; the rest loses the indentation that all of its lines share. */
function read(text: string): Documentation {
  const [summary = "", ...rest] = text.trim().split(/\r\n?|\n/);
  const indents = rest.filter((line) => line.trim() !== "").map((line) => line.search(/\S/));
  const shared = Math.min(...indents);
  const lines = rest.map((line) => line.slice(shared).trimEnd());
  return { summary: summary.trimEnd(), description: lines.join("\n").replace(/^\n+/, "") };
}
