/** The server of the Model Context Protocol. It keeps no session. */
import type {
  JSONRPCMessage,
  JSONRPCRequest,
  ListToolsResult,
  Server,
  ServerOptions,
  Transport,
} from "@modelcontextprotocol/server";
import type { ResolvedLimits } from "../../http/limits.ts";
import { HTTPError, isHTTPError } from "../../base/errors.ts";
import { toHTTPError } from "../../http/reply.ts";
import { contextOf, type HttpRequest } from "../../http/request.ts";
import { describeError } from "../../log/log.ts";
import type { ResourceMetadataHintOf, Route } from "../../routing/route.ts";
import { importLate } from "../../base/runtime.ts";
import { findOverflows } from "../../schema/coerce_json.ts";
import { isStackOverflow } from "../../schema/schema.ts";
import { Cancellations } from "./cancellations.ts";
import { Permissions } from "./permissions.ts";
import type { ToolListing } from "./options.ts";
import { needsToken } from "./protected_resource.ts";
import { assignToolNames, type Tool, toTool } from "./tool.ts";
import {
  type CallEvaluation,
  type CallTarget,
  callTool,
  type Challenge,
  countFurtherCall,
  evaluateGuardsOf,
  type Exchange,
} from "./tool_call.ts";
import { isTool } from "./tool_check.ts";
import { ReplyBudget } from "./tool_result.ts";
import { Lazy, load } from "../../base/async_context.ts";
import { codingOf } from "../../http/body_errors.ts";
import { acceptedCodings } from "../../http/limits.ts";
import { isJson } from "../../http/json.ts";

export interface McpApplication extends CallTarget {
  readonly title: string;
  readonly version: string;
  readonly description: string | undefined;
  readonly routes: readonly Route[];
  readonly limits: ResolvedLimits;
  readonly toolListing: ToolListing;
  readonly metadataHint: ResourceMetadataHintOf;
}

interface ListedTool {
  readonly definition: ListToolsResult["tools"][number];
  readonly route: Route;
  readonly size: number;
}

type Sdk = typeof import("@modelcontextprotocol/server");

/** Downloaded on first use. `deno cache` downloads it, too, because of its types. */
export const PACKAGE: string = "npm:@modelcontextprotocol/server@^2.4.0";

/** Without a handshake: each request names its version. */
const MODERN_VERSION = "2026-07-28";
/** With a handshake, newest first. A request without a version uses the oldest. */
const LEGACY_VERSIONS = ["2025-11-25", "2025-06-18", "2025-03-26"];
/** The only one with batches. */
const BATCH_VERSION = "2025-03-26";
const MAX_BATCH = 100;
const BATCH_CONCURRENCY = 4;

/** In milliseconds. The list changes only with a deployment. */
const LIST_TTL = 60_000;

export class McpServer {
  readonly #sdk: Sdk;
  readonly #app: McpApplication;
  readonly #tools: ReadonlyMap<string, Tool>;
  readonly #cancellations: Cancellations;
  readonly #listed: readonly ListedTool[];
  readonly #needsToken: boolean;
  readonly #options: ServerOptions;

  private constructor(sdk: Sdk, app: McpApplication) {
    this.#sdk = sdk;
    this.#app = app;
    // In the order of the routes.
    const names = assignToolNames(app.routes.filter(isTool));
    this.#tools = new Map([...names].map(([route, name]) => [name, toTool(route, name, app.limits)]));
    this.#cancellations = new Cancellations(this.#tools.values().map(({ route }) => route));
    // The SDK requires JSON values, and JsonSchema has `unknown` for other keywords.
    this.#listed = Array.from(this.#tools.values(), ({ definition, route }) => {
      return { definition: definition as ListedTool["definition"], route, size: JSON.stringify(definition).length };
    });
    this.#needsToken = this.#tools.size > 0 && this.#tools.values().every(({ route }) => needsToken(route));
    this.#options = {
      capabilities: { tools: {} },
      supportedProtocolVersions: LEGACY_VERSIONS,
      // A list of permitted tools changes when the user signs in.
      cacheHints: { "tools/list": { ttlMs: app.toolListing === "all" ? LIST_TTL : 0, cacheScope: "private" } },
      ...(app.description !== undefined && { instructions: app.description }),
    };
  }

  static async load(app: McpApplication): Promise<McpServer> {
    return new McpServer(await importLate<Sdk>(PACKAGE), app);
  }

  /** @throws {HTTPError} If a guard challenges the client. */
  async answer(text: string, caller: HttpRequest): Promise<Response> {
    const { PARSE_ERROR, INVALID_REQUEST, isLegacyRequest } = this.#sdk;
    let message: unknown;
    try {
      message = JSON.parse(text);
      // JSON would have null in place of Infinity.
      if (findOverflows(text, message).length > 0) return errorReply(INVALID_REQUEST, "A number is too large");
    } catch (error) {
      if (isStackOverflow(error)) return errorReply(INVALID_REQUEST, "The body is nested too deeply");
      return errorReply(PARSE_ERROR, "The body is not well-formed JSON");
    }
    if (Array.isArray(message) && message.length > MAX_BATCH) {
      return errorReply(INVALID_REQUEST, `The batch has more than ${MAX_BATCH} messages`);
    }
    if (this.#needsToken && isConnecting(message)) await this.#challengeConnecting(caller);
    for (const one of Array.isArray(message) ? message : [message]) this.#cancellations.cancel(one, caller);
    const isLegacy = await isLegacyRequest(caller.raw, message);
    return isLegacy ? await this.#answerLegacy(message, caller) : await this.#answerModern(message, caller);
  }

  async #answerModern(message: unknown, caller: HttpRequest): Promise<Response> {
    let failure: unknown;
    const exchange = this.#exchangeOf(caller, false);
    const id = isObject(message) ? message.id : undefined;
    const { fetch } = this.#sdk.createMcpHandler(() => this.#createServer(exchange, id), {
      legacy: "reject",
      onerror: (error) => failure = error,
    });
    // Not the request itself: the handler reads its signal, and Deno would print a warning.
    const response = await fetch(new Request(caller.raw.url, { method: "POST", headers: caller.headers }), {
      parsedBody: message,
    });
    this.#throwRefusal(exchange);
    if (response.status >= 500) {
      contextOf(caller).log("error", "The agent endpoint failed", { error: describeError(failure) });
    }
    return response;
  }

  async #answerLegacy(message: unknown, caller: HttpRequest): Promise<Response> {
    const { INVALID_REQUEST, isInitializeRequest, isJSONRPCRequest } = this.#sdk;
    const version = caller.headers.get("mcp-protocol-version") ?? BATCH_VERSION;
    if (!LEGACY_VERSIONS.includes(version) && !isInitializeRequest(message)) return this.#refuseVersion(version);
    if (!Array.isArray(message)) {
      if (!isJSONRPCRequest(message)) return accepted();
      const exchange = this.#exchangeOf(caller, false);
      const reply = await this.#answerRequest(message, exchange);
      this.#throwRefusal(exchange);
      return Response.json(reply);
    }
    if (version !== BATCH_VERSION) return errorReply(INVALID_REQUEST, `Revision ${version} has no batches`);
    if (message.some(isInitializeRequest)) return errorReply(INVALID_REQUEST, "A batch cannot initialize");
    // Without sessions, notifications and responses of the client are ignored.
    const requests = message.filter(isJSONRPCRequest);
    if (requests.length === 0) return accepted();
    if (caller.headers.has("idempotency-key") && hasSeveralCalls(requests)) {
      return errorReply(INVALID_REQUEST, "An Idempotency-Key is for one call: send each call by itself");
    }
    return Response.json(await this.#answerBatch(requests, this.#exchangeOf(caller, true)));
  }

  /**
   * Runs some requests in parallel, and keeps their order. The guards of several calls run before
   * the first call, and again for each: values of guards belong to one request, and all calls would
   * have to stay open for them.
   */
  async #answerBatch(requests: readonly JSONRPCRequest[], exchange: Exchange): Promise<JSONRPCMessage[]> {
    const isSeveral = hasSeveralCalls(requests);
    const evaluations = isSeveral ? await this.#evaluateGuards(requests, exchange) : undefined;
    const replies: JSONRPCMessage[] = [];
    await inParallel(requests, async (request, index) => {
      replies[index] = await this.#answerRequest(request, exchange, evaluations?.[index]);
    });
    if (!isSeveral) this.#throwRefusal(exchange);
    return replies;
  }

  /** Counts all calls, evaluates their guards, and throws the first challenge. */
  async #evaluateGuards(requests: readonly JSONRPCRequest[], exchange: Exchange): Promise<readonly CallEvaluation[]> {
    const all = requests.map((): CallEvaluation => ({ countedBy: new Set(), result: undefined }));
    const challenges: Challenge[] = [];
    let isFurther = false;
    await inParallel(requests, async (request, index) => {
      // Calls in progress may still find the challenge of an earlier one.
      if (!isCall(request) || challenges.length > 0) return;
      const { name, arguments: given } = (request.params ?? {}) as {
        readonly name?: unknown;
        readonly arguments?: unknown;
      };
      const tool = typeof name === "string" ? this.#tools.get(name) : undefined;
      if (!tool) return;
      const one = all[index]!;
      if (isFurther) await countFurtherCall(tool, exchange, one);
      isFurther = true;
      if (one.result) return;
      const challenge = await evaluateGuardsOf(tool, isObject(given) ? given : {}, exchange, this.#app, one);
      if (challenge) challenges[index] = challenge;
    });
    exchange.challenge = challenges.find((challenge) => challenge !== undefined);
    this.#throwRefusal(exchange);
    return all;
  }

  /** Refuses the whole request after a challenge, or if the list of tools fails. */
  #throwRefusal({ challenge, failure, caller }: Exchange): void {
    if (failure) throw failure.thrown;
    if (!challenge) return;
    contextOf(caller).reply.metadataHint = this.#app.metadataHint(challenge.route, caller);
    throw challenge.error;
  }

  /**
   * Refuses a client that connects without a token, if every tool requires one: many clients let a
   * user sign in only then.
   *
   * @throws {HTTPError} With 401, or with 429 if no guard ran because of limits.
   */
  async #challengeConnecting(caller: HttpRequest): Promise<void> {
    const permissions = new Permissions(caller);
    let challenge: Challenge | undefined;
    let limited: HTTPError | undefined;
    for (const { route } of this.#tools.values()) {
      const error = await permissions.refusalOf(route).catch(() => undefined);
      if (error?.status === 429) limited ??= error;
      else if (error?.status === 401) challenge ??= { error, route };
      else return;
    }
    if (!challenge) throw limited;
    // Without scopes, clients request all scopes of the metadata: one sign-in is enough.
    const hint = this.#app.metadataHint(challenge.route, caller);
    contextOf(caller).reply.metadataHint = hint && { ...hint, scopes: [] };
    throw challenge.error;
  }

  /** The list has a limit only in a batch. */
  async #list({ budget, permissions }: Exchange): Promise<ListToolsResult> {
    const { ProtocolError, INVALID_REQUEST } = this.#sdk;
    let listed = this.#listed;
    if (this.#app.toolListing === "permitted") {
      const refusals = new Map<ListedTool, HTTPError>();
      await inParallel(listed, async (tool) => {
        const refusal = await permissions.refusalOf(tool.route);
        if (refusal) refusals.set(tool, refusal);
      });
      listed = listed.filter((tool) => !refusals.has(tool));
      // An empty list would mean that there are no tools.
      const limited = refusals.values().find(({ status }) => status === 429);
      if (limited && listed.length === 0) throw limited;
    }
    const tools = listed.map(({ definition }) => definition);
    if (budget.useForList(listed.reduce((sum, { size }) => sum + size, 0))) return { tools };
    throw new ProtocolError(INVALID_REQUEST, budget.refusal);
  }

  #exchangeOf(caller: HttpRequest, isBatch: boolean): Exchange {
    return {
      caller,
      budget: new ReplyBudget(isBatch),
      isBatch,
      permissions: new Permissions(caller),
      cancellations: this.#cancellations,
      challenge: undefined,
      failure: undefined,
    };
  }

  #refuseVersion(requested: string): Response {
    const { UnsupportedProtocolVersionError } = this.#sdk;
    const supported = [MODERN_VERSION, ...LEGACY_VERSIONS];
    const { code, message, data } = new UnsupportedProtocolVersionError({ supported, requested });
    return errorReply(code, message, data);
  }

  /** Uses a new server of the SDK, because each serves one connection. */
  async #answerRequest(
    request: JSONRPCRequest,
    exchange: Exchange,
    evaluation?: CallEvaluation,
  ): Promise<JSONRPCMessage> {
    const { promise: answer, resolve } = Promise.withResolvers<JSONRPCMessage>();
    const transport: Transport = {
      start: async () => {},
      send: async (message) => resolve(message),
      close: async () => {},
    };
    await this.#createServer(exchange, request.id, evaluation).connect(transport);
    transport.onmessage?.(request);
    return await answer;
  }

  #createServer(exchange: Exchange, id: unknown, evaluation?: CallEvaluation): Server {
    const { ProtocolError, INTERNAL_ERROR, INVALID_PARAMS } = this.#sdk;
    // The low-level class: McpServer of the SDK would register all tools for each request.
    const server = new this.#sdk.Server({ name: this.#app.title, version: this.#app.version }, this.#options);
    server.setRequestHandler("tools/list", async () => {
      try {
        return await this.#list(exchange);
      } catch (thrown) {
        if (thrown instanceof ProtocolError) throw thrown;
        if (!exchange.isBatch) exchange.failure = { thrown };
        // The results of calls in the batch are sent.
        else if (!isHTTPError(thrown) || thrown.status >= 500) {
          contextOf(exchange.caller).log("error", "The tools could not be listed", { error: describeError(thrown) });
        }
        throw new ProtocolError(INTERNAL_ERROR, toHTTPError(thrown).detail);
      }
    });
    server.setRequestHandler("tools/call", ({ params }) => {
      const tool = this.#tools.get(params.name);
      if (!tool) throw new ProtocolError(INVALID_PARAMS, "The tool is unknown");
      return callTool({ tool, args: params.arguments ?? {}, id, evaluation }, exchange, this.#app);
    });
    return server;
  }
}

function isCall({ method }: JSONRPCRequest): boolean {
  return method === "tools/call";
}

function hasSeveralCalls(requests: readonly JSONRPCRequest[]): boolean {
  return requests.filter(isCall).length > 1;
}

/** In any revision. */
function isConnecting(message: unknown): boolean {
  return isObject(message) && (message.method === "initialize" || message.method === "server/discover");
}

/**
 * Keeps the order of items. After a failure it starts no more, and waits for those in progress: a
 * resource that opens later would never be cleaned up.
 */
async function inParallel<Item>(
  items: readonly Item[],
  work: (item: Item, index: number) => Promise<void>,
): Promise<void> {
  let next = 0;
  const workOn = async (): Promise<void> => {
    while (next < items.length) {
      const index = next++;
      try {
        await work(items[index]!, index);
      } catch (failure) {
        next = items.length;
        throw failure;
      }
    }
  };
  const results = await Promise.allSettled(Array.from({ length: BATCH_CONCURRENCY }, workOn));
  const failed = results.find((result) => result.status === "rejected");
  if (failed) throw failed.reason;
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function accepted(): Response {
  return new Response(null, { status: 202 });
}

function errorReply(code: number, message: string, data?: unknown): Response {
  return Response.json({ jsonrpc: "2.0", id: null, error: { code, message, data } }, { status: 400 });
}

/**
 * The handler of `POST /mcp`: the Model Context Protocol over HTTP without sessions, revisions
 * 2025-03-26 to 2026-07-28. It reads the routes at the first request.
 *
 * @throws {HTTPError} With 405, 408, 413 or 415.
 */
export function mcpEndpoint(parts: McpApplication): (request: HttpRequest) => Promise<Response> {
  const server = new Lazy(() => load(() => McpServer.load(parts)));
  return async (request) => {
    if (request.method !== "POST") {
      throw new HTTPError(405, "Agents send POST requests, and receive no events", { headers: { allow: "POST" } });
    }
    if (!isJson(request.headers.get("content-type"))) {
      throw new HTTPError(415, "The body must be JSON in UTF-8: send it with content-type application/json", {
        headers: { accept: "application/json" },
      });
    }
    codingOf(request.headers, acceptedCodings(contextOf(request).matched.limits));
    const text = await request.text();
    return await (await server.use()).answer(text, request);
  };
}
