/** Path templates: `/books/{id}`, `/files/{path...}`. */
import { RouteError } from "../errors.ts";

/** One segment of a template. */
export type Segment =
  | { readonly kind: "literal"; readonly text: string }
  | { readonly kind: "name"; readonly name: string }
  | { readonly kind: "rest"; readonly name: string };

/** A parsed template. */
export interface PathTemplate {
  /** As it was written. */
  readonly text: string;
  /** What stands between the slashes. */
  readonly segments: readonly Segment[];
  /** The names of the parameters, in their order. */
  readonly names: readonly string[];
  /** What two templates have in common that match the same paths: the text with its names left out. */
  readonly shape: string;
}

const PARAMETER = /^\{([\p{ID_Start}_$][\p{ID_Continue}$]*)(\.\.\.)?\}$/u;

/**
 * Parses a template.
 *
 * @param text The template: empty, or starting with a slash.
 * @param action What is being done, for messages.
 * @throws {RouteError} With code `path`, when it cannot be read.
 */
export function parsePath(text: string, action: string): PathTemplate {
  const fail = (reason: string): never => {
    throw new RouteError("path", `Cannot ${action} at "${text}": ${reason}`);
  };
  if (typeof text !== "string") {
    fail(`the path must be a string, got ${typeof text}`);
  }
  if (text !== "" && !text.startsWith("/")) {
    fail('the path must start with "/"');
  }
  const segments = text.split("/").slice(1).map((part): Segment => parseSegment(part, fail));
  const names = segments.flatMap((segment) => segment.kind === "literal" ? [] : [segment.name]);
  const twice = names.find((name, index) => names.indexOf(name) < index);
  if (twice !== undefined) fail(`"{${twice}}" stands in it twice, rename one`);
  if (names.includes("__proto__")) {
    fail('a parameter cannot be named "__proto__"');
  }
  const rest = segments.findIndex((segment) => segment.kind === "rest");
  if (rest >= 0 && rest < segments.length - 1) {
    fail('only the last segment may be "{name...}"');
  }
  return { text, segments, names, shape: segments.map(shapeOf).join("") };
}

/**
 * Checks a prefix and parses it.
 *
 * @param prefix Empty, or starting with a slash and not ending with one.
 * @param action What is being done, for messages.
 * @throws {RouteError} With code `path`, when it cannot be read.
 */
export function parsePrefix(prefix: string, action: string): PathTemplate {
  if (prefix.endsWith("/")) {
    throw new RouteError(
      "path",
      `Cannot ${action} at "${prefix}": a prefix must not end with "/"`,
    );
  }
  const template = parsePath(prefix, action);
  if (template.segments.some((segment) => segment.kind === "rest")) {
    throw new RouteError(
      "path",
      `Cannot ${action} at "${prefix}": "{name...}" cannot stand in a prefix`,
    );
  }
  return template;
}

function parseSegment(part: string, fail: (reason: string) => never): Segment {
  const [, name, rest] = PARAMETER.exec(part) ?? [];
  if (name !== undefined) return { kind: rest ? "rest" : "name", name };
  if (/[{}]/.test(part)) {
    fail(
      `the segment "${part}" must be a literal, "{name}" or "{name...}", its name an identifier`,
    );
  }
  if (/[?#]/.test(part)) fail(`"?" and "#" cannot stand in a path`);
  if (part.includes("%")) {
    fail(
      `write "${part}" decoded: requests are decoded before they are compared`,
    );
  }
  if (part === "." || part === "..") {
    fail(`no request can have the segment "${part}"`);
  }
  return { kind: "literal", text: part };
}

function shapeOf(segment: Segment): string {
  if (segment.kind === "literal") return `/${segment.text}`;
  return segment.kind === "name" ? "/{}" : "/{...}";
}
