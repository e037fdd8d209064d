/** Path templates: `/books/{id}`, `/files/{path...}`. */
import { RouteError } from "../base/errors.ts";

export type Segment =
  | { readonly kind: "literal"; readonly text: string }
  | { readonly kind: "name"; readonly name: string }
  | { readonly kind: "rest"; readonly name: string };

export interface PathTemplate {
  readonly text: string;
  readonly segments: readonly Segment[];
  readonly names: readonly string[];
  /** The template without names, `/books/{}`. Templates of one shape match the same paths. */
  readonly shape: string;
}

/** A segment that is a parameter in another framework. */
interface ForeignParameter {
  readonly name: string;
  /** Whether it matches several segments. */
  readonly isRest: boolean;
}

/**
 * The parameters of other frameworks. Compiled on use: the character classes of Unicode take about
 * a millisecond, and most paths do not need them.
 */
const foreignPatterns = (): readonly RegExp[] =>
  [
    /^:(?<name>NAME)(?<rest>[*+]|\(\.[*+]\))?/u,
    /^(?<rest>\*{1,2}):?(?<name>NAME)?/u,
    /^\((?<rest>\.[*+])\)/u,
    /^\[\[?(?<rest>\.{3})?(?<name>NAME).*\](?:\..*)?$/u,
    /^<(?:(?<rest>path):|[\p{ID_Start}_$][^:<>]*:)?(?<name>NAME).*>(?:\..*)?$/u,
    /^\{(?<name>NAME)(?<rest>\*{1,2}|\+|:path)\}$/u,
    /^\{\{?(?<rest>\*{1,2}|\+|\.{3})?(?<name>NAME)(?:[?:=][^{}]*)?\}?\}$/u,
  ].map(({ source }) => new RegExp(source.replaceAll("NAME", "[\\p{ID_Start}_$][\\p{ID_Continue}$]*"), "u"));

/**
 * Parses a template.
 *
 * A segment that starts like a parameter of another framework, such as `:id`, `*`, `[id]` or
 * `<id>`, is refused: as a literal, it would match a path that no client requests. Elsewhere in a
 * segment, as in `books:batch`, these characters are literal.
 *
 * @param text Empty, or starting with a slash.
 * @throws {RouteError} With code `path`, if it is malformed.
 */
export function parsePath(text: string, action: string): PathTemplate {
  return parse(text, action, (name) => `write "{${name}...}"`);
}

function failing(text: string, action: string): (reason: string) => never {
  return (reason) => {
    throw new RouteError("path", `Cannot ${action} at "${text}": ${reason}`);
  };
}

function parse(text: string, action: string, cureOfRest: (name: string) => string): PathTemplate {
  const fail = failing(text, action);
  if (typeof text !== "string") fail(`the path must be a string, got ${typeof text}`);
  if (text !== "" && !text.startsWith("/")) fail('the path must start with "/"');
  const parts = text.split("/").slice(1);
  for (const [index, part] of parts.entries()) {
    const { name, isRest } = readForeign(part) ?? {};
    if (name === undefined) continue;
    const cure = isRest && index === parts.length - 1 ? cureOfRest(name) : `write "{${name}}"`;
    fail(`"${part}" is no parameter here, ${cure}`);
  }
  const segments = parts.map((part): Segment => parseSegment(part, fail));
  const names = segments.flatMap((segment) => segment.kind === "literal" ? [] : [segment.name]);
  const twice = names.find((name, index) => names.indexOf(name) < index);
  if (twice !== undefined) fail(`"{${twice}}" occurs twice, rename one`);
  if (names.includes("__proto__")) fail('a parameter cannot be named "__proto__"');
  if (segments.slice(0, -1).some(({ kind }) => kind === "rest")) fail('only the last segment may be "{name...}"');
  return { text, segments, names, shape: segments.map(shapeOf).join("") };
}

/**
 * @param prefix Empty, or starting with a slash and not ending with one.
 * @throws {RouteError} With code `path`, if it is malformed.
 */
export function parsePrefix(prefix: string, action: string): PathTemplate {
  const template = parse(prefix, action, () => "leave it out: a prefix takes what follows by itself");
  const fail = failing(prefix, action);
  if (prefix.endsWith("/")) fail('a prefix must not end with "/"');
  if (template.segments.at(-1)?.kind === "rest") fail('"{name...}" cannot stand in a prefix');
  return template;
}

function readForeign(part: string): ForeignParameter | undefined {
  if (!/^[:*([<{]/.test(part) || matchParameter(part)) return undefined;
  for (const pattern of foreignPatterns()) {
    const { groups } = pattern.exec(part) ?? {};
    if (groups) return { name: groups.name ?? "path", isRest: groups.rest !== undefined };
  }
  return undefined;
}

function matchParameter(part: string): RegExpExecArray | null {
  if (!part.startsWith("{")) return null;
  // Most names are ASCII, which needs none of the classes of Unicode.
  return /^\{([A-Za-z_$][\w$]*)(\.\.\.)?\}$/.exec(part) ??
    /^\{([\p{ID_Start}_$][\p{ID_Continue}$]*)(\.\.\.)?\}$/u.exec(part);
}

function parseSegment(part: string, fail: (reason: string) => never): Segment {
  const [, name, rest] = matchParameter(part) ?? [];
  if (name !== undefined) return { kind: rest ? "rest" : "name", name };
  if (/[{}]/.test(part)) {
    fail(`the segment "${part}" must be a literal, "{name}" or "{name...}", its name an identifier`);
  }
  if (/[?#]/.test(part)) fail(`"?" and "#" cannot stand in a path`);
  if (/%(?!25)/.test(part)) {
    fail(`write "${part}" decoded, and a literal "%" as "%25": requests are decoded before they are compared`);
  }
  if (part === "." || part === "..") fail(`no request can have the segment "${part}"`);
  return { kind: "literal", text: part.replaceAll("%25", "%") };
}

function shapeOf(segment: Segment): string {
  if (segment.kind === "literal") return `/${segment.text}`;
  return segment.kind === "name" ? "/{}" : "/{...}";
}
