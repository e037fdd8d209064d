/**
 * What a route says of itself in words.
 *
 * A handler's own words are read off its source, as it runs: what a minifier has dropped, a template literal for one, is not there.
 */
import type { Route } from "../../routing/route.ts";
import { openingText } from "./opening_text.ts";

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
