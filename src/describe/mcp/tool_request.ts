import * as v from "valibot";
import type { InputSource, Issue } from "../../errors.ts";
import type { HttpRequest } from "../../http/request.ts";
import { pathStart } from "../../http/query.ts";
import type { Route } from "../../routing/route.ts";
import { boundIssues, type Dataset, type Schema, toIssue } from "../../schema/schema.ts";
import type { BodyInput } from "../route/inputs.ts";
import type { ToolArgument } from "./tool_check.ts";
import { toJsonForm } from "../../schema/json_form.ts";
import { toValidator, type Validator } from "../../schema/check.ts";
import { tooLarge } from "../../http/body_errors.ts";

/** Writes the form that an agent gave as its fields. */

/** Brackets nest, and what is before or between them is a name. */
const NO_NAME = /^$|[[\]]/;

/**
 * Writes a form as an urlencoded body. A list of values is one name that is repeated; what else nests does so in brackets.
 *
 * @param form What the agent gave. Anything but an object has no fields.
 * @param maxSize How large it may be, in bytes. Each value repeats the names around it, so that it
 * can be far larger than what was sent.
 * @param issues Takes up the names that cannot be written.
 * @throws {HTTPError} With 413, when it is too large.
 */
export function toFormText(form: unknown, maxSize: number, issues: Issue[]): string {
  const fields = new URLSearchParams();
  let size = 0;
  const append = (name: string, value: string): void => {
    size += name.length + value.length + 2;
    if (size > maxSize) throw tooLarge(maxSize, "The form is");
    fields.append(name, value);
  };
  const add = (name: string, value: unknown): void => {
    if (name.length > maxSize) throw tooLarge(maxSize, "The form is");
    if (!isNested(value)) append(name, String(value));
    else if (!Array.isArray(value)) addEntries(value, (key) => `${name}[${key}]`);
    else if (value.some(isNested)) value.forEach((item, index) => add(`${name}[${index}]`, item));
    else for (const item of value) add(name, item);
  };
  const addEntries = (object: object, nameOf: (key: string) => string): void => {
    for (const [key, value] of Object.entries(object)) {
      if (!NO_NAME.test(key)) add(nameOf(key), value);
      else issues.push({ in: "form", path: [key], code: "invalid", message: "Must be a name without brackets" });
    }
  };
  if (isNested(form) && !Array.isArray(form)) addEntries(form, (key) => key);
  return fields.toString();
}

function isNested(value: unknown): value is object {
  return typeof value === "object" && value !== null;
}

/** Holds the arguments of a call to what the agent was told of them. */

/** Finds the faults of an argument. */
export type ArgumentCheck = (value: unknown) => Issue[];

/** A name in the path of which nothing was declared. */
const TEXT: readonly Schema[] = [v.string()];

/**
 * Makes the check of an argument as JSON. Once it is written into a path or query, `5` and `"5"` are the same, and so are a value
 * and a list of it.
 *
 * What has to be waited for is left to the binder of the route.
 *
 * @param argument The argument.
 */
export function checkOf({ name, input }: ToolArgument): ArgumentCheck {
  if (!("in" in input)) return checkBy([input.schema], name, input.name, []);
  return checkBy(input.schemas.length > 0 ? input.schemas : TEXT, name, input.in, [name]);
}

function checkBy(
  schemas: readonly Schema[],
  name: string,
  source: InputSource,
  root: readonly string[],
): ArgumentCheck {
  // Prepared at the first call: most tools are only ever listed.
  let validators: readonly Validator[] | undefined;
  return (value) => {
    validators ??= schemas.map((schema) => toValidator(toJsonForm(schema, `the argument "${name}"`)));
    return validators.filter(({ isAsync }) => !isAsync).flatMap(({ validate }) => {
      const { issues = [] } = validate(value) as Dataset;
      return issues.map((issue) => toIssue(issue, source, root));
    });
  };
}

/** Makes the request that a call of a tool stands for. */

/** Arguments by name, as an agent sent them. */
export type CallArguments = Readonly<Record<string, unknown>>;

/**
 * Headers that say something of one request alone: of its body, its connection, its protocol, and what a cache may answer. All
 * others are about the caller, and go along.
 */
const OF_ONE_REQUEST =
  /^(?:accept|accept-encoding|connection|content-.+|digest|expect|if-.+|keep-alive|last-event-id|mcp-.+|proxy-connection|range|te|trailer|transfer-encoding|upgrade)$/;

/** How many unknown arguments are told. */
const MAX_UNKNOWN = 10;

const FORM = "application/x-www-form-urlencoded";

/** A body on its way. */
interface Body {
  readonly type: BodyInput["mediaType"];
  readonly text: string;
}

/** What a tool tells of the request that a call of it stands for. */
export interface RequestPlan {
  readonly route: Route;
  readonly arguments: readonly ToolArgument[];
  /** The size of a body that the route takes, in bytes. */
  readonly maxBody: number;
  /** The names of the arguments that may be null. */
  readonly nullable: ReadonlySet<string>;
  /** The checks of the arguments, by their names. */
  readonly checks: ReadonlyMap<string, ArgumentCheck>;
}

/** The request that a call stands for. */
export interface CallRequest {
  /** The request. What cannot be written into it is left out. */
  readonly request: Request;
  /** The values of the path's parameters, in their order; none for one that cannot be written. */
  readonly values: readonly string[];
  /**
   * The faults of the arguments. The faults of a JSON body are the route's to find, unless there
   * are others.
   */
  readonly issues: readonly Issue[];
}

/**
 * Makes the request of a call: the arguments in its path, query and body, all else from whoever calls.
 *
 * An argument is at fault where it is unknown, is another one in the path or query than the agent
 * was told of, or cannot be written there. The caller may be told of it when the guards of the
 * route have let them in.
 *
 * @param plan The tool.
 * @param args What the agent gave.
 * @param caller The request that brought the call.
 * @throws {HTTPError} With 413, when a form is larger than the route takes.
 * @throws {RangeError} When an argument is nested more deeply than the stack holds.
 */
export function toRequest(plan: RequestPlan, args: CallArguments, caller: HttpRequest): CallRequest {
  const issues = unknownArguments(plan, args);
  const path = new Map<string, string>();
  const query = new URLSearchParams();
  let body: Body | undefined;
  for (const { name, input } of plan.arguments) {
    const value = valueOf(name, plan, args);
    if (!("in" in input)) {
      body = bodyOf(input, value, plan, issues);
      continue;
    }
    const told = issues.length;
    if (input.in === "path") {
      const text = pathText(name, value, issues);
      if (issues.length === told) path.set(name, text);
    } else for (const text of queryTexts(name, value, issues)) query.append(name, text);
    if (issues.length === told) addAll(issues, plan.checks.get(name)!(value));
  }
  // Of a JSON body the route tells by itself, where a request goes out. In a form, `5` and `"5"` are the same.
  if (issues.length > 0 || body?.type === FORM) addAll(issues, bodyFaults(plan, args));
  const origin = caller.raw.url.slice(0, pathStart(caller.raw.url));
  const url = origin + pathOf(plan.route, path) + (query.size > 0 ? `?${query}` : "");
  const { method } = plan.route;
  const request = new Request(url, { method, headers: headersOf(caller, body), body: body?.text ?? null });
  // Asking a server's request for its signal costs a listener, and a warning of Deno's: only a handler that asks for it pays.
  Object.defineProperty(request, "signal", { get: () => caller.signal });
  return { request, values: valuesOf(plan.route, path), issues: boundIssues(issues) };
}

function valuesOf({ template }: Route, texts: ReadonlyMap<string, string>): string[] {
  const values: string[] = [];
  template.names.forEach((name, place) => {
    const text = texts.get(name);
    if (text !== undefined) values[place] = text;
  });
  return values;
}

/** There can be more faults than a call may have arguments. */
function addAll(issues: Issue[], found: readonly Issue[]): void {
  for (const issue of found) issues.push(issue);
}

/** An agent that misspells a name should hear of it, rather than get the answer to another question. */
function unknownArguments(plan: RequestPlan, args: CallArguments): Issue[] {
  const known = plan.arguments.map(({ name }) => name);
  const unknown = Object.keys(args).filter((name) => !known.includes(name)).slice(0, MAX_UNKNOWN);
  const expected = known.length === 0 ? "none at all" : known.join(", ");
  return unknown.map((name) => issueOf("query", name, `Unknown argument: expected ${expected}`));
}

/** The faults of the body, as JSON. */
function bodyFaults(plan: RequestPlan, args: CallArguments): Issue[] {
  const body = plan.arguments.find(({ input }) => !("in" in input));
  return body ? plan.checks.get(body.name)!(valueOf(body.name, plan, args)) : [];
}

/** Many agents write null for what they leave out. */
function valueOf(name: string, { nullable }: RequestPlan, args: CallArguments): unknown {
  const value = Object.hasOwn(args, name) ? args[name] : undefined;
  return value === null && !nullable.has(name) ? undefined : value;
}

function bodyOf(input: BodyInput, value: unknown, { maxBody }: RequestPlan, issues: Issue[]): Body | undefined {
  if (value === undefined) return undefined;
  const { mediaType: type } = input;
  return { type, text: type === FORM ? toFormText(value, maxBody, issues) : JSON.stringify(value) };
}

function queryTexts(name: string, value: unknown, issues: Issue[]): string[] {
  if (value === undefined) return [];
  const parts = Array.isArray(value) ? value : [value];
  if (!parts.some((part) => typeof part === "object" && part !== null)) return parts.map(String);
  issues.push(issueOf("query", name, "Must be a value without parts, or a list of them"));
  return [];
}

function pathText(name: string, value: unknown, issues: Issue[]): string {
  const text = String(value);
  const refuse = (message: string) => issues.push(issueOf("path", name, message));
  if (value === undefined) issues.push({ ...issueOf("path", name, "Missing value"), code: "missing" });
  else if (typeof value === "object" && value !== null) refuse("Must be a value without parts");
  else if (text === "") refuse("Must not be empty");
  // A URL has them resolved before it is sent: they would lead to another place.
  else if (text.split("/").some((part) => part === "." || part === "..")) refuse("Must not hold a dot segment");
  return text;
}

function issueOf(source: InputSource, name: string, message: string): Issue {
  return { in: source, path: [name], code: "invalid", message };
}

function pathOf({ template }: Route, texts: ReadonlyMap<string, string>): string {
  const parts = template.segments.map((segment) => {
    if (segment.kind === "literal") return encode(segment.text);
    const text = texts.get(segment.name) ?? "";
    return segment.kind === "rest" ? text.split("/").map(encode).join("/") : encode(text);
  });
  return `/${parts.join("/")}`;
}

/** Half a character, which JSON can hold, has no encoding. */
function encode(text: string): string {
  return encodeURIComponent(text.toWellFormed());
}

function headersOf(caller: HttpRequest, body: Body | undefined): Headers {
  const headers = new Headers({ accept: "application/json, */*;q=0.5" });
  for (const [name, value] of caller.headers) {
    if (!OF_ONE_REQUEST.test(name)) headers.append(name, value);
  }
  if (body) headers.set("content-type", body.type);
  return headers;
}
