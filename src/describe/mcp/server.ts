/** Speaks the Model Context Protocol: one message in, one reply out, nothing kept in between. */
import type {
  JSONRPCMessage,
  JSONRPCRequest,
  ListToolsResult,
  Server,
  ServerOptions,
  Transport,
} from "@modelcontextprotocol/server";
import type { ResolvedLimits } from "../../http/limits.ts";
import type { HttpRequest } from "../../http/request.ts";
import { describeError, log } from "../../log.ts";
import type { Route } from "../../routing/route.ts";
import { findOverflows } from "../../schema/json_number.ts";
import { isStackOverflow } from "../../schema/stack.ts";
import { ReplyBudget } from "./reply_budget.ts";
import { assignToolNames, type Tool, toTool } from "./tool.ts";
import { isTool } from "./tool_check.ts";
import { type Callable, callTool } from "./tool_call.ts";

/** What agents are told of the application, and what serves them. */
export interface McpApplication extends Callable {
  readonly title: string;
  readonly version: string;
  readonly description: string | undefined;
  /** All routes, their operations named. */
  readonly routes: readonly Route[];
  readonly limits: ResolvedLimits;
}

type Sdk = typeof import("@modelcontextprotocol/server");

/** The revision whose requests carry it themselves. */
const MODERN_VERSION = "2026-07-28";
/** Those with a handshake, the newest first. A request without a version is of the oldest. */
const LEGACY_VERSIONS = ["2025-11-25", "2025-06-18", "2025-03-26"];
/** The only revision whose requests come in batches. */
const BATCH_VERSION = "2025-03-26";
const MAX_BATCH = 100;
/** How many requests of a batch are answered at a time. */
const BATCH_CONCURRENCY = 4;

/** How long a client may keep the list of tools, in milliseconds. It changes with the next deployment only. */
const LIST_TTL = 60_000;

/** An application as a server of tools. */
export class McpServer {
  readonly #sdk: Sdk;
  readonly #app: McpApplication;
  readonly #tools: ReadonlyMap<string, Tool>;
  readonly #list: ListToolsResult;
  /** About how many bytes the list has. */
  readonly #listSize: number;
  readonly #options: ServerOptions;

  private constructor(sdk: Sdk, app: McpApplication) {
    this.#sdk = sdk;
    this.#app = app;
    this.#tools = toolsOf(app);
    // A schema is JSON, although its type leaves open what further keywords hold.
    this.#list = { tools: [...this.#tools.values()].map(({ definition }) => definition) } as ListToolsResult;
    this.#listSize = JSON.stringify(this.#list).length;
    this.#options = {
      capabilities: { tools: {} },
      supportedProtocolVersions: LEGACY_VERSIONS,
      cacheHints: { "tools/list": { ttlMs: LIST_TTL, cacheScope: "private" } },
      ...(app.description !== undefined && { instructions: app.description }),
    };
  }

  /** Loads what the protocol needs, which an application that no agent asks never does. */
  static async load(app: McpApplication): Promise<McpServer> {
    return new McpServer(await import("@modelcontextprotocol/server"), app);
  }

  /**
   * Answers what a client sent.
   *
   * @param text The body.
   * @param caller The request that brought it.
   */
  async answer(text: string, caller: HttpRequest): Promise<Response> {
    const { PARSE_ERROR, INVALID_REQUEST, isLegacyRequest } = this.#sdk;
    let message: unknown;
    try {
      message = JSON.parse(text);
      // An infinity would become null on its way to the route.
      if (findOverflows(text, message).length > 0) return errorReply(INVALID_REQUEST, "A number is too large");
    } catch (error) {
      if (isStackOverflow(error)) return errorReply(INVALID_REQUEST, "The body is nested too deeply");
      return errorReply(PARSE_ERROR, "The body is not well-formed JSON");
    }
    if (Array.isArray(message) && message.length > MAX_BATCH) {
      return errorReply(INVALID_REQUEST, `The batch has more than ${MAX_BATCH} messages`);
    }
    const isLegacy = await isLegacyRequest(caller.raw, message);
    return isLegacy ? await this.#answerLegacy(message, caller) : await this.#answerModern(message, caller);
  }

  /** Answers a request of the revisions that carry their version in each message, and what is of no revision. */
  async #answerModern(message: unknown, caller: HttpRequest): Promise<Response> {
    let failure: unknown;
    const budget = new ReplyBudget(false);
    const { fetch } = this.#sdk.createMcpHandler(() => this.#open(caller, budget), {
      legacy: "reject",
      onerror: (error) => failure = error,
    });
    // A request of its own: the handler asks for the signal, for which a server's request would print a warning of Deno's.
    const response = await fetch(new Request(caller.raw.url, { method: "POST", headers: caller.headers }), {
      parsedBody: message,
    });
    if (response.status >= 500) log("error", "The agent endpoint failed", { error: describeError(failure) });
    return response;
  }

  /** Answers a message, or a batch of them, of the revisions with a handshake. */
  async #answerLegacy(message: unknown, caller: HttpRequest): Promise<Response> {
    const { INVALID_REQUEST, isInitializeRequest, isJSONRPCRequest } = this.#sdk;
    const version = caller.headers.get("mcp-protocol-version") ?? BATCH_VERSION;
    if (!LEGACY_VERSIONS.includes(version) && !isInitializeRequest(message)) return this.#refuseVersion(version);
    if (!Array.isArray(message)) {
      if (!isJSONRPCRequest(message)) return accepted();
      return Response.json(await this.#exchange(message, caller, new ReplyBudget(false)));
    }
    if (version !== BATCH_VERSION) return errorReply(INVALID_REQUEST, `Revision ${version} has no batches`);
    if (message.some(isInitializeRequest)) return errorReply(INVALID_REQUEST, "A batch cannot initialize");
    // What a client tells the server, or answers it, has no use where nothing is kept and nothing asked.
    const requests = message.filter(isJSONRPCRequest);
    if (requests.length === 0) return accepted();
    return Response.json(await this.#exchangeBatch(requests, caller));
  }

  /** Answers a few requests at a time, the replies in their order. */
  async #exchangeBatch(requests: readonly JSONRPCRequest[], caller: HttpRequest): Promise<JSONRPCMessage[]> {
    const budget = new ReplyBudget(true);
    const replies: JSONRPCMessage[] = [];
    let next = 0;
    const work = async (): Promise<void> => {
      while (next < requests.length) {
        const place = next++;
        replies[place] = await this.#exchange(requests[place]!, caller, budget);
      }
    };
    await Promise.all(Array.from({ length: BATCH_CONCURRENCY }, work));
    return replies;
  }

  #refuseVersion(requested: string): Response {
    const { UnsupportedProtocolVersionError } = this.#sdk;
    const supported = [MODERN_VERSION, ...LEGACY_VERSIONS];
    const { code, message, data } = new UnsupportedProtocolVersionError({ supported, requested });
    return errorReply(code, message, data);
  }

  /** Has a server of its own answer one request: it serves one connection only. */
  async #exchange(request: JSONRPCRequest, caller: HttpRequest, budget: ReplyBudget): Promise<JSONRPCMessage> {
    const { promise: answer, resolve } = Promise.withResolvers<JSONRPCMessage>();
    const transport: Transport = {
      start: async () => {},
      send: async (message) => resolve(message),
      close: async () => {},
    };
    await this.#open(caller, budget).connect(transport);
    transport.onmessage?.(request);
    return await answer;
  }

  #open(caller: HttpRequest, budget: ReplyBudget): Server {
    const { ProtocolError, INVALID_PARAMS, INVALID_REQUEST } = this.#sdk;
    // The low-level server: the other one takes up every tool anew for each request.
    const server = new this.#sdk.Server({ name: this.#app.title, version: this.#app.version }, this.#options);
    server.setRequestHandler("tools/list", () => {
      if (budget.takeList(this.#listSize)) return this.#list;
      throw new ProtocolError(INVALID_REQUEST, budget.refusal);
    });
    server.setRequestHandler("tools/call", ({ params }) => {
      const tool = this.#tools.get(params.name);
      if (!tool) throw new ProtocolError(INVALID_PARAMS, "The tool is unknown");
      return callTool(tool, params.arguments ?? {}, caller, this.#app, budget);
    });
    return server;
  }
}

/** The tools by name, in the order of their routes. */
function toolsOf({ routes, limits }: McpApplication): ReadonlyMap<string, Tool> {
  const names = assignToolNames(routes.filter(isTool));
  return new Map([...names].map(([route, name]) => [name, toTool(route, name, limits)]));
}

function accepted(): Response {
  return new Response(null, { status: 202 });
}

function errorReply(code: number, message: string, data?: unknown): Response {
  return Response.json({ jsonrpc: "2.0", id: null, error: { code, message, data } }, { status: 400 });
}
