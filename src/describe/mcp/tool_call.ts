/** Calls a tool: by a request that passes through the application like one from HTTP. */
import type { CallToolResult } from "@modelcontextprotocol/server";
import { HTTPError, type InputSource, isHTTPError, type Issue } from "../../base/errors.ts";
import { tooLarge } from "../../http/body_errors.ts";
import { pathEnd, pathStart } from "../../http/query.ts";
import { isChallenge } from "../../http/challenge.ts";
import { toHTTPError } from "../../http/reply.ts";
import { type ConnectionInfo, mountedOf, withoutCompletion } from "../../http/connection.ts";
import type { AgentCall } from "../../http/context.ts";
import { contextOf, type HttpRequest } from "../../http/request.ts";
import type { RouteInfo } from "../../http/route_info.ts";
import { describeError, log } from "../../log/log.ts";
import type { Destination } from "../../routing/dispatch.ts";
import type { Route } from "../../routing/route.ts";
import { boundIssues } from "../../schema/issues.ts";
import { SpanKind, tracing } from "../../log/telemetry.ts";
import { isStackOverflow } from "../../schema/schema.ts";
import type { BodyInput } from "../route/inputs.ts";
import type { Cancellations } from "./cancellations.ts";
import type { Permissions } from "./permissions.ts";
import type { CheckedArgument, Tool } from "./tool.ts";
import { failed, problemText, type ReplyBudget, retryText, toResult } from "./tool_result.ts";

/** The parts of the application that a call needs. */
export interface CallTarget {
  /** Handles a request like one from HTTP. */
  readonly fetch: (request: Request, info: ConnectionInfo | undefined, call: AgentCall) => Promise<Response>;
  /** Null for built-in endpoints. Throws an `HTTPError` if there is no route. */
  readonly find: (method: string, path: string) => RouteInfo | null;
  /**
   * Runs only the middleware, limits and guards of a route.
   *
   * @returns The refusal, a 422 for invalid arguments, or 204.
   * @throws {HTTPError} With 503, if the application has stopped.
   */
  readonly evaluateGuards: (
    request: Request,
    destination: Destination,
    info: ConnectionInfo | undefined,
    call: AgentCall,
  ) => Promise<Response>;
}

/** The state of one HTTP request, shared by its messages. */
export interface Exchange {
  readonly caller: HttpRequest;
  readonly budget: ReplyBudget;
  readonly isBatch: boolean;
  /** The decisions of guards before a call. */
  readonly permissions: Permissions;
  readonly cancellations: Cancellations;
  /** The first challenge to a call, which can become the reply in place of the results. */
  challenge: Challenge | undefined;
  /** The error of `tools/list`. */
  failure: { readonly thrown: unknown } | undefined;
}

/** A message that calls a tool. */
export interface CallMessage {
  readonly tool: Tool;
  readonly args: CallArguments;
  readonly id: unknown;
  /** The result of {@linkcode evaluateGuardsOf}; undefined if it was not called. */
  readonly evaluation: CallEvaluation | undefined;
}

/** The precheck of a call in a batch. */
export interface CallEvaluation {
  readonly countedBy: Set<object>;
  /** The refusal of a limit. The call must not run: the limit would accept it, once counted. */
  result: CallToolResult | undefined;
}

/** A 401 or 403 that asks the client for a token. */
export interface Challenge {
  readonly error: HTTPError;
  readonly route: Route;
}

type CallArguments = Readonly<Record<string, unknown>>;

interface CallRequest {
  readonly request: Request;
  /** The URL without credentials. */
  readonly uri: string;
  /** The path parameters in order, with a hole for each invalid one. */
  readonly values: readonly string[];
  /** Without those of a JSON body, which the route validates if there are no others. */
  readonly issues: readonly Issue[];
}

interface Body {
  readonly type: BodyInput["mediaType"];
  readonly text: string;
}

/** Headers about one request. All others describe the caller, and are copied. */
const OF_ONE_REQUEST =
  /^(?:accept|accept-encoding|connection|content-.+|digest|expect|if-.+|keep-alive|last-event-id|mcp-.+|proxy-connection|range|te|trailer|transfer-encoding|upgrade)$/;

const FORM = "application/x-www-form-urlencoded";
/** Brackets cannot quote these. */
const NO_FIELD_NAME = /^$|[[\]]/;
const MAX_UNKNOWN_ARGUMENTS = 10;

/**
 * Calls a tool with the headers and the address of the caller. Failures are results, never
 * rejections; the challenge of a guard is also stored in the exchange.
 */
export async function callTool(message: CallMessage, exchange: Exchange, app: CallTarget): Promise<CallToolResult> {
  if (!tracing) return await call(message, exchange, app);
  const { tool } = message;
  const { name } = tool.definition;
  // OpenTelemetry's conventions for MCP.
  const attributes = {
    "mcp.method.name": "tools/call",
    "gen_ai.operation.name": "execute_tool",
    "gen_ai.tool.name": name,
    "http.route": tool.route.path,
  };
  return await tracing.run(`tools/call ${name}`, { kind: SpanKind.SERVER, attributes }, async (span) => {
    const result = await call(message, exchange, app);
    if (result.isError) span.setAttribute("error.type", "tool_error");
    return result;
  });
}

async function call(
  { tool, args, id, evaluation }: CallMessage,
  exchange: Exchange,
  app: CallTarget,
): Promise<CallToolResult> {
  if (evaluation?.result) return evaluation.result;
  const { caller, budget } = exchange;
  if (budget.isSpent) return failed(`Not called: ${budget.refusal}`);
  const cancellable = exchange.cancellations.begin(caller, tool.route, id);
  try {
    const called = requestOf(tool, args, caller, cancellable?.signal);
    const { request, values, issues } = called;
    const connection = connectionOf(exchange);
    const refused = (thrown: unknown) => exchange.challenge ??= challengeOf(thrown, tool);
    const agentCall = { countedBy: evaluation?.countedBy ?? new Set<object>(), refused, issues };
    if (issues.length === 0) checkDestination(request, tool, app);
    const response = issues.length === 0
      ? await app.fetch(request, connection, agentCall)
      : await app.evaluateGuards(request, { route: tool.route, values }, connection, agentCall);
    return await resultOf(response, tool, called, budget);
  } catch (thrown) {
    return failure(thrown, tool, exchange);
  } finally {
    cancellable?.end();
  }
}

function resultOf(response: Response, tool: Tool, { uri }: CallRequest, budget: ReplyBudget): Promise<CallToolResult> {
  reportCookies(response, tool);
  return toResult(response, tool.outputForm, budget, uri);
}

function failure(thrown: unknown, tool: Tool, { caller, budget }: Exchange): CallToolResult {
  if (!isHTTPError(thrown)) {
    tracing?.fail(thrown);
    contextOf(caller).log("error", "A tool failed", { tool: tool.definition.name, error: describeError(thrown) });
  }
  const error = toHTTPError(thrown);
  const text = problemText(error.toProblem()) + retryText(new Headers(error.headers));
  return failed(budget.use(text.length) ? text : budget.refusal);
}

/**
 * Counts a further call of a batch by the limits around a mounted application, which have counted
 * only the HTTP request.
 *
 * @param evaluation Gets the result, if a limit refuses the call.
 */
export async function countFurtherCall(tool: Tool, exchange: Exchange, evaluation: CallEvaluation): Promise<void> {
  try {
    await mountedOf(contextOf(exchange.caller).connection)?.countAgain?.();
  } catch (thrown) {
    evaluation.result = failure(thrown, tool, exchange);
  }
}

/**
 * Runs only the limits and the guards of a tool.
 *
 * @param evaluation Gets the limits that have counted the call, and its result if one refuses it.
 * @returns The challenge of a guard. Other failures repeat in the call itself.
 */
export async function evaluateGuardsOf(
  tool: Tool,
  args: CallArguments,
  exchange: Exchange,
  app: CallTarget,
  evaluation: CallEvaluation,
): Promise<Challenge | undefined> {
  if (tool.route.compiled.authorize === undefined) return undefined;
  let challenge: Challenge | undefined;
  let isLimited = false;
  const refused = (thrown: unknown) => {
    challenge = challengeOf(thrown, tool);
    isLimited = isHTTPError(thrown) && thrown.status === 429;
  };
  try {
    const called = requestOf(tool, args, exchange.caller);
    const { request, values, issues } = called;
    if (issues.length === 0) checkDestination(request, tool, app);
    const agentCall = { countedBy: evaluation.countedBy, refused };
    const reply = await app.evaluateGuards(request, { route: tool.route, values }, connectionOf(exchange), agentCall);
    if (isLimited) evaluation.result = await resultOf(reply, tool, called, exchange.budget);
    else await reply.body?.cancel();
  } catch {
    // The call itself fails in the same way.
  }
  return challenge;
}

function challengeOf(thrown: unknown, { route }: Tool): Challenge | undefined {
  return isHTTPError(thrown) && isChallenge(thrown) ? { error: thrown, route } : undefined;
}

const reported = new WeakSet<Tool>();

/** Once for each tool. No error: middleware often sets cookies on all replies. */
function reportCookies({ headers }: Response, tool: Tool): void {
  if (reported.has(tool) || !headers.has("set-cookie")) return;
  reported.add(tool);
  log("warn", "A tool sets cookies, and the results of tools have none: set them in a request of a browser", {
    tool: tool.definition.name,
  });
}

/**
 * In a batch, the resources of a call close with the call, not with the reply to the batch: a batch
 * can be larger than a connection pool.
 */
function connectionOf({ caller, isBatch }: Exchange): ConnectionInfo | undefined {
  const { connection } = contextOf(caller);
  return isBatch && connection ? withoutCompletion(connection) : connection;
}

/** `me` in `/users/{id}` leads to `/users/me`, which may be no tool. */
function checkDestination({ method, url }: Request, { route }: Tool, { find }: CallTarget): void {
  const start = pathStart(url);
  if (find(method, url.slice(start, pathEnd(url, start))) === route) return;
  throw new HTTPError(404, "The arguments lead to another route than that of the tool");
}

function requestOf(
  tool: Tool,
  args: CallArguments,
  caller: HttpRequest,
  cancelled?: AbortSignal,
): CallRequest {
  try {
    return toRequest(tool, args, caller, cancelled);
  } catch (error) {
    throw isStackOverflow(error) ? new HTTPError(400, "The arguments are nested too deeply") : error;
  }
}

/** Collects issues: the caller may see them only if the guards accept the request. */
function toRequest(
  tool: Tool,
  args: CallArguments,
  caller: HttpRequest,
  cancelled: AbortSignal | undefined,
): CallRequest {
  const issues = unknownArguments(tool, args);
  const path = new Map<string, string>();
  const query = new URLSearchParams();
  let body: Body | undefined;
  for (const argument of tool.arguments) {
    const { name, input } = argument;
    const value = valueOf(argument, args);
    if (!("in" in input)) {
      body = bodyOf(input, value, tool.maxBody, issues);
      continue;
    }
    const before = issues.length;
    if (input.in === "path") {
      const text = pathText(name, value, issues);
      if (issues.length === before) path.set(name, text);
    } else for (const text of queryTexts(name, value, issues)) query.append(name, text);
    if (issues.length === before) addAll(issues, argument.check(value));
  }
  // The route validates a JSON body itself, but cannot distinguish `5` and `"5"` in a form.
  const { arguments: checked, route } = tool;
  if (issues.length > 0 || body?.type === FORM) {
    for (const argument of checked) {
      if (!("in" in argument.input)) addAll(issues, argument.check(valueOf(argument, args)));
    }
  }
  const origin = caller.raw.url.slice(0, pathStart(caller.raw.url));
  const url = origin + pathOf(route, path);
  const uri = withQuery(url, query);
  for (const key of tool.queryKeys) for (const value of caller.query.getAll(key)) query.append(key, value);
  const request = new Request(withQuery(url, query), {
    method: route.method,
    headers: headersOf(caller, body),
    body: body?.text ?? null,
  });
  // Made on demand: the signal of a server request costs a listener and a warning of Deno.
  let signal: AbortSignal | undefined;
  Object.defineProperty(request, "signal", {
    get: () => signal ??= cancelled ? AbortSignal.any([caller.signal, cancelled]) : caller.signal,
  });
  return { request, uri, values: valuesOf(route, path), issues: boundIssues(issues) };
}

function withQuery(url: string, query: URLSearchParams): string {
  return query.size > 0 ? `${url}?${query}` : url;
}

/** A misspelt name must not return the answer to another question. */
function unknownArguments(tool: Tool, args: CallArguments): Issue[] {
  const known = tool.arguments.map(({ name }) => name);
  const unknown = Object.keys(args).filter((name) => !known.includes(name)).slice(0, MAX_UNKNOWN_ARGUMENTS);
  const expected = known.length === 0 ? "none at all" : known.join(", ");
  return unknown.map((name) => issueOf("query", name, `Unknown argument: expected ${expected}`));
}

/** Many agents send null for an argument that they omit. */
function valueOf({ name, isNullable }: CheckedArgument, args: CallArguments): unknown {
  const value = Object.hasOwn(args, name) ? args[name] : undefined;
  return value === null && !isNullable ? undefined : value;
}

function pathText(name: string, value: unknown, issues: Issue[]): string {
  const text = String(value);
  const refuse = (message: string) => issues.push(issueOf("path", name, message));
  if (value === undefined) issues.push({ ...issueOf("path", name, "Missing value"), code: "missing" });
  else if (isNested(value)) refuse("Must be a value without parts");
  else if (text === "") refuse("Must not be empty");
  // URLs resolve dot segments.
  else if (text.split("/").some((part) => part === "." || part === "..")) refuse("Must not hold a dot segment");
  return text;
}

function queryTexts(name: string, value: unknown, issues: Issue[]): string[] {
  if (value === undefined) return [];
  const parts = Array.isArray(value) ? value : [value];
  if (!parts.some(isNested)) return parts.map(String);
  issues.push(issueOf("query", name, "Must be a value without parts, or a list of them"));
  return [];
}

function bodyOf(input: BodyInput, value: unknown, maxBody: number, issues: Issue[]): Body | undefined {
  if (value === undefined) return undefined;
  const { mediaType: type } = input;
  return { type, text: type === FORM ? formText(value, maxBody, issues) : JSON.stringify(value) };
}

/**
 * Writes an urlencoded body: names repeat for arrays, and brackets nest. It can be far larger than
 * the argument, because each value repeats the names around it.
 *
 * @throws {HTTPError} With 413.
 */
function formText(form: unknown, maxSize: number, issues: Issue[]): string {
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
      if (!NO_FIELD_NAME.test(key)) add(nameOf(key), value);
      else issues.push({ in: "form", path: [key], code: "invalid", message: "Must be a name without brackets" });
    }
  };
  if (isNested(form) && !Array.isArray(form)) addEntries(form, (key) => key);
  return fields.toString();
}

function isNested(value: unknown): value is object {
  return typeof value === "object" && value !== null;
}

function pathOf({ template }: Route, texts: ReadonlyMap<string, string>): string {
  const parts = template.segments.map((segment) => {
    if (segment.kind === "literal") return encode(segment.text);
    const text = texts.get(segment.name) ?? "";
    return segment.kind === "rest" ? text.split("/").map(encode).join("/") : encode(text);
  });
  return `/${parts.join("/")}`;
}

function valuesOf({ template }: Route, texts: ReadonlyMap<string, string>): string[] {
  const values: string[] = [];
  template.names.forEach((name, index) => {
    const text = texts.get(name);
    if (text !== undefined) values[index] = text;
  });
  return values;
}

/** A lone surrogate has no encoding. */
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

function issueOf(source: InputSource, name: string, message: string): Issue {
  return { in: source, path: [name], code: "invalid", message };
}

/** Not `push(...)`: the number of arguments of a call is limited. */
function addAll(issues: Issue[], found: readonly Issue[]): void {
  for (const issue of found) issues.push(issue);
}
