/**
 * The summary and description of a route: options, or the docstring of its handler, a string
 * literal as the first statement. It is read from the source at run time, so minifiers may remove
 * it.
 */
import type { Route } from "../../routing/route.ts";

export interface Documentation {
  readonly summary?: string;
  readonly description?: string;
}

/**
 * The options `summary` and `description` take precedence over `doc`, and `doc` over the docstring.
 */
export function documentationOf(
  { options, handler }: Pick<Route, "options"> & { readonly handler: (...args: never[]) => unknown },
): Documentation {
  const text = options.doc ?? docstringOf(handler);
  const { summary: firstLine, description: rest } = text ? splitText(text) : {};
  const { summary = firstLine, description = rest } = options;
  return { ...(summary && { summary }), ...(description && { description }) };
}

/** The first line is the summary. The rest loses its common indentation. */
function splitText(text: string): Documentation {
  const [summary = "", ...rest] = text.trim().split(/\r\n?|\n/);
  const indents = rest.filter((line) => line.trim() !== "").map((line) => line.search(/\S/));
  const shared = Math.min(...indents);
  const lines = rest.map((line) => line.slice(shared).trimEnd());
  return { summary: summary.trimEnd(), description: lines.join("\n").replace(/^\n+/, "") };
}

// The source is valid JavaScript, so tokens suffice to find the end of the parameters.
const TRIVIA = /(?:\s|\/\/.*|\/\*[^]*?\*\/)*/y;
/** Or a template without substitutions. */
const LITERAL = /"(?:[^"\\]|\\[^])*"|'(?:[^'\\]|\\[^])*'|`(?:[^`\\$]|\\[^]|\$(?!\{))*`/yu;
/** Between two substitutions, or after the last one. */
const TEMPLATE_PART = /\}(?:[^`\\$]|\\[^]|\$(?!\{))*(?:`|\$\{)/y;
const REGULAR_EXPRESSION = /\/(?:[^\\/[\r\n]|\\.|\[(?:[^\]\\\r\n]|\\.)*\])+\/\w*/y;
/**
 * A name, keyword or number. A character beyond ASCII that is no space belongs to a name. The
 * classes of Unicode would take longer to load than this module.
 */
const WORD = /(?:[\w$#]|(?!\s)[\u0080-\u{10ffff}]|\\u(?:\{[\dA-Fa-f]+\})?)+/u;
/** Up to its first substitution. */
const TEMPLATE_HEAD = /`(?:[^`\\$]|\\[^]|\$(?!\{))*\$\{/u;
const TOKEN = new RegExp(`${WORD.source}|${LITERAL.source}|${TEMPLATE_HEAD.source}|=>|\\+\\+|--|[^]`, "yu");

/** Tokens that end a value: a slash after them divides, any other starts a regular expression. */
const VALUE_END = /[\w$\u0080-\u{10ffff}"'`)\]}]$|^(?:\+\+|--)$|.\/$/u;
const KEYWORD_BEFORE_VALUE = /^(?:await|case|delete|do|else|in|instanceof|new|of|return|throw|typeof|void|yield)$/;

/** Tokens that continue the expression of the last line: no semicolon is inserted before them. */
const CONTINUATION = /[*/%,?:.<>=&|^([`]|\+(?!\+)|-(?!-)|!=|(?:in|instanceof)(?![\w$]|(?!\s)[\u0080-\u{10ffff}])/yu;
const LINE_END = /[\n\r\u2028\u2029]/;

/** Fails fast for most functions without a docstring. */
const MAY_HAVE_DOCSTRING = /\{\s*(?:["'`]|\/[/*])/;
/** Directives such as `"use strict"` precede the docstring. */
const DIRECTIVE = /^use [a-z]+$/;

const ESCAPE = /\\(?:u\{([\dA-Fa-f]+)\}|u([\dA-Fa-f]{4})|x([\dA-Fa-f]{2})|\r\n|([^]))/gu;
const ESCAPED: Readonly<Record<string, string>> = { n: "\n", t: "\t", r: "\r", b: "\b", f: "\f", v: "\v", 0: "\0" };

// deno-lint-ignore ban-types -- any function has a source
function docstringOf(handler: Function): string | undefined {
  const source = Function.prototype.toString.call(handler);
  if (!MAY_HAVE_DOCSTRING.test(source)) return undefined;
  let at = 0;
  const take = (pattern: RegExp): string => {
    pattern.lastIndex = at;
    if (!pattern.test(source)) return "";
    const text = source.slice(at, pattern.lastIndex);
    at = pattern.lastIndex;
    return text;
  };
  if (!enterBody(take)) return undefined;
  for (;;) {
    take(TRIVIA);
    const literal = take(LITERAL);
    if (literal === "") return undefined;
    const gap = take(TRIVIA);
    const next = source[at];
    const isStatement = next === ";" || next === "}" || (LINE_END.test(gap) && take(CONTINUATION) === "");
    if (!isStatement) return undefined;
    const text = textOf(literal);
    if (!DIRECTIVE.test(text)) return text;
    if (next === ";") at++;
  }
}

/** False if the body is an expression. */
function enterBody(take: (pattern: RegExp) => string): boolean {
  const open: string[] = [];
  let previous = "";
  for (;;) {
    take(TRIVIA);
    const isInTemplate = open.at(-1)?.endsWith("${");
    const token = (isInTemplate && take(TEMPLATE_PART)) || (!endsValue(previous) && take(REGULAR_EXPRESSION)) ||
      take(TOKEN);
    if (token === "") return false;
    if (open.length === 0) {
      if (token === "{") return true;
      if (previous === "=>") return false;
    }
    if (/^[)\]}]/.test(token)) open.pop();
    if (/^[([{]$|\$\{$/.test(token)) open.push(token);
    previous = token;
  }
}

function endsValue(token: string): boolean {
  return VALUE_END.test(token) && !KEYWORD_BEFORE_VALUE.test(token);
}

function textOf(literal: string): string {
  const raw = literal.slice(1, -1);
  // In a template, every line ending is a line feed.
  const text = literal.startsWith("`") ? raw.replace(/\r\n?/g, "\n") : raw;
  return text.replace(ESCAPE, (_, point, unit, byte, char) => {
    const code = point ?? unit ?? byte;
    if (code !== undefined) return String.fromCodePoint(parseInt(code, 16));
    // An escaped line ending continues the line.
    return char === undefined || LINE_END.test(char) ? "" : ESCAPED[char] ?? char;
  });
}
