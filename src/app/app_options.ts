/** The options of an application, with their defaults and checks. */
import type { None, StateType } from "../binding/dependency.ts";
import { type BoardOptions, type Entrance, readBoard } from "./board_host.ts";
import { type BuiltInUrls, checkUrls } from "./built_in.ts";
import { DOCUMENT_OPTIONS, type DocumentOptions, readDocumentOptions } from "../describe/openapi/document_options.ts";
import { type DocsOptions, type DocsParts, readDocs } from "../describe/page/options.ts";
import { type McpOptions, type McpParts, readMcp } from "../describe/mcp/options.ts";
import { checkBasePath } from "../http/connection.ts";
import { Cors, type CorsOptions, resolveCors } from "../http/cors.ts";
import { HostList } from "../http/host.ts";
import { OriginList, type Origins } from "../http/origin.ts";
import { ProxyTrust, type TrustProxy } from "../http/proxy.ts";
import { DEFAULT_LIMITS, type Limits, type ResolvedLimits, resolveLimits } from "../http/limits.ts";
import type { LogEntry } from "../log/log.ts";
import type { ScopeOptions } from "../http/route_info.ts";
import { checkOptions, type OptionNames, pickOptions, quote } from "../base/options.ts";
import type { PrecheckParts } from "../routing/dispatch.ts";
import { OPTION_NAMES, type RateLimitOption, type ScopeDeclaration, type ScopeDependencies } from "../routing/scope.ts";
import { type StoreLocation, toLocation, type TopicsLocation } from "../store/location.ts";
import type { TopicStore } from "../store/topic_store.ts";
import { readWebhooksOptions, type WebhooksOptions } from "../webhooks/webhooks.ts";

/**
 * Options of an {@linkcode App}.
 *
 * @category Applications
 */
export interface AppOptions<State = Record<string, unknown>, Given = None, Counted = unknown>
  extends ScopeOptions, RateLimitOption<State, Counted>, DocumentOptions {
  /**
   * The title of the application.
   *
   * @default {"webfw"}
   */
  title?: string;
  /**
   * The version of the application.
   *
   * @default {"0.1.0"}
   */
  version?: string;
  /** The purpose of the application, for the document and for agents. */
  description?: string;
  /**
   * The path of the OpenAPI document. null turns it off, together with the page.
   *
   * @default {"/openapi.json"}
   */
  openapiUrl?: string | null;
  /**
   * The path of the documentation page. null turns it off.
   *
   * @default {"/docs"}
   */
  docsUrl?: string | null;
  /** How the documentation page signs in, and who sees the page and the document. */
  docs?: DocsOptions<State>;
  /**
   * The path of the endpoint for agents, whose tools are the routes with `tool`. null turns it off.
   *
   * @default {"/mcp"}
   */
  mcpUrl?: string | null;
  /**
   * The path where load balancers ask whether to send requests: 200 when all lifespans and stores
   * are open, 503 before that and as soon as the server is asked to stop. It is answered before
   * hosts, limits and middleware, and is not in the access log. null turns it off.
   *
   * It stays 200 if a store cannot be reached later: all processes share the store, so none of them
   * would get requests any more.
   *
   * @default {null}
   */
  readyUrl?: string | null;
  /**
   * Shows requests, messages and work on pages, by default at `/board`, to users that its guards
   * accept. It is not in the document, not counted by limits, and not in the access log. Without
   * it, nothing is recorded. `webfw run --reload` shows it at `/_board` to this machine alone.
   */
  board?: BoardOptions<State>;
  /** The hosts and the web pages that the endpoint for agents accepts, and which tools it lists. */
  mcp?: McpOptions;
  /** Bounds of what clients can send. Each has a safe default. */
  limits?: Limits;
  /**
   * The origins of other pages that may use the application, such as `["https://shop.example"]`.
   * Their browsers get the CORS headers, and they may send unsafe requests, open WebSockets and use
   * the endpoint for agents. Pages of the application's own host need no entry. An entry
   * `https://*.preview.example` stands for all hosts below `preview.example`, at any depth.
   *
   * `"*"` is for public data: all pages may read replies, and send unsafe requests without cookies
   * and passwords. It opens neither WebSockets nor the endpoint for agents.
   *
   * @default {[]}
   *
   * @example A page of another origin
   * ```ts
   * import { App } from "@webfw/core";
   * import { assertEquals } from "@std/assert";
   *
   * const app = new App({ origins: ["https://shop.example"] });
   * app.post("/orders", async () => "taken");
   * const order = (origin: string) =>
   *   app.fetch(new Request("http://localhost/orders", { method: "POST", headers: { origin } }));
   *
   * const taken = await order("https://shop.example");
   * assertEquals([taken.status, await taken.json()], [200, "taken"]);
   * assertEquals(taken.headers.get("access-control-allow-origin"), "https://shop.example");
   * const refused = await order("https://attacker.example");
   * assertEquals([refused.status, (await refused.json()).status], [403, 403]);
   * ```
   */
  origins?: Origins;
  /** What pages of these origins may do with replies. */
  cors?: CorsOptions;
  /**
   * The host names that the application answers to, without port, such as `"shop.example"`;
   * `"*.shop.example"` stands for all names below `shop.example`, at any depth. A request for
   * another host is refused with 421, unless it comes from the same machine, without a proxy, for
   * `localhost` or a loopback address. By default any host is answered.
   */
  hosts?: readonly string[];
  /**
   * The proxies in front of the application: their number, or their addresses, such as
   * `["10.0.0.0/8"]`. Then `request.remoteAddress` is the address of the client, and `request.url`
   * has the scheme that the client used. The host that a proxy names counts only if `hosts` is set.
   * Nothing is taken from these headers by default, nor with 0 or `false`.
   *
   * The headers are read from the right, past the trusted proxies. Parsing stops at the first entry
   * that is no address.
   */
  trustProxy?: TrustProxy;
  /**
   * The store of durable topics and of records: the path of a file; the URL of a denokv,
   * `https://…`, or `{ url, token }`; the URLs of NATS servers with JetStream, `nats://a:4222` or
   * several with commas between them, or `{ url, token | user, password | credentials, tls,
   * replicas, prefix }`; the URL of PostgreSQL, `postgres://user@host/database`, or `{ url,
   * password, tls, schema }`; `{ sqlite }`, the path of your own file of SQLite; or a store of your
   * own, which the application closes when it stops. A string without one of these schemes is a
   * path. A URL with a user or a password is refused, except that of PostgreSQL.
   *
   * The default is the environment variable `WEBFW_TOPICS`; if that is not set, on Deno Deploy the
   * database of the application, and elsewhere the file `.webfw/topics.sqlite` next to the program.
   */
  topics?: TopicsLocation;
  /**
   * Takes all entries of the log of this application, in place of stderr: those of its requests,
   * lifespans, topics, consumers, crons and its server, and what `request.log` writes. It is not
   * awaited. An entry for which it throws or rejects goes to stderr.
   *
   * What belongs to no application, such as leftover files of other processes, stays on stderr.
   *
   * @example Entries of a test
   * ```ts
   * import { App, type LogEntry } from "@webfw/core";
   * import { assertEquals } from "@std/assert";
   *
   * const entries: LogEntry[] = [];
   * const app = new App({ log: (entry) => entries.push(entry) });
   * app.get("/", async () => {
   *   throw new Error("broken");
   * });
   * const response = await app.fetch(new Request("http://localhost/"));
   * assertEquals(response.status, 500);
   * await response.body?.cancel();
   * const { level, message, fields } = entries[0]!;
   * assertEquals([level, message, fields.path], ["error", "A request failed", "/"]);
   * ```
   */
  log?: (entry: LogEntry) => unknown;
  /**
   * The path below which a proxy serves the application: `"/api/v1"`. Set it if the proxy removes
   * the path from requests and does not name it in `X-Forwarded-Prefix`. Links, redirects and the
   * document of the application contain it, see `request.basePath`.
   *
   * @default {""}
   */
  basePath?: string;
  /** The type of `request.state`, by `stateType()`. */
  state?: StateType<State>;
  /**
   * Guards of all routes, also of those in included routers. The routes of the application itself
   * get the values as arguments by these names. They run after the middleware. 404, 405 and the
   * application's own endpoints run without them.
   */
  deps?: ScopeDependencies<State, never, Given>;
  /** How webhooks are sent, which `app.webhook()` declares. */
  webhooks?: WebhooksOptions;
  /**
   * The store of all limits that have no `store` of their own: `"records"` is the record store of
   * the application, which all of its nodes share. By default it is the memory of the process.
   */
  rateLimitStore?: "records";
}

const OPTIONS: OptionNames<AppOptions> = {
  title: true,
  version: true,
  description: true,
  openapiUrl: true,
  docsUrl: true,
  docs: true,
  mcpUrl: true,
  readyUrl: true,
  board: true,
  mcp: true,
  limits: true,
  origins: true,
  cors: true,
  hosts: true,
  trustProxy: true,
  topics: true,
  state: true,
  log: true,
  basePath: true,
  rateLimitStore: true,
  webhooks: true,
  ...DOCUMENT_OPTIONS,
  ...OPTION_NAMES.app,
};

interface ResolvedAppOptions extends McpParts {
  readonly title: string;
  readonly version: string;
  readonly description: string | undefined;
  /** What it declares for all routes. */
  readonly scope: ScopeDeclaration;
  /** Where limits count that have no store of their own. */
  readonly limitStore: AppOptions["rateLimitStore"];
  /** Options of the documents only. */
  readonly described: DocumentOptions;
  readonly urls: BuiltInUrls;
  readonly docs: DocsParts;
  readonly board: Entrance | undefined;
  readonly limits: ResolvedLimits;
  readonly precheck: PrecheckParts;
  readonly topics: StoreLocation | TopicStore | undefined;
  readonly log: AppOptions["log"];
  readonly basePath: string;
  readonly webhooks: Required<WebhooksOptions>;
}

/**
 * Checks the options and adds the defaults.
 *
 * @throws {TypeError} If an option is unknown or cannot be used, or the path of an endpoint has a
 * parameter.
 * @throws {RouteError} If the path of an endpoint cannot be parsed.
 * @throws {RangeError} If a number is out of its range.
 */
export function resolveAppOptions<State, Given, Counted>(
  options: AppOptions<State, Given, Counted>,
): ResolvedAppOptions {
  checkOptions(options, OPTIONS, "make the App");
  const {
    title = "webfw",
    version = "0.1.0",
    description,
    openapiUrl = "/openapi.json",
    docsUrl = "/docs",
    docs = {},
    mcpUrl = "/mcp",
    readyUrl = null,
    board,
    mcp = {},
    limits,
    origins = [],
    cors = {},
    hosts,
    trustProxy,
    topics,
    log,
    basePath = "",
    rateLimitStore,
    webhooks = {},
  } = options;
  if (rateLimitStore !== undefined && rateLimitStore !== "records") {
    throw new TypeError(`Cannot make the App: "rateLimitStore" must be "records", got ${quote(rateLimitStore)}`);
  }
  const hostList = hosts && new HostList(hosts, "hosts");
  const originList = OriginList.read(origins, "set the origins of the App");
  const resolvedCors = resolveCors(cors, originList);
  return {
    title,
    version,
    description,
    scope: pickOptions(options, OPTION_NAMES.app),
    limitStore: rateLimitStore,
    described: readDocumentOptions(options),
    urls: checkUrls({ openapiUrl, docsUrl, mcpUrl, readyUrl }),
    docs: readDocs(docs),
    board: readBoard(board),
    ...readMcp(mcp, { hosts: hostList, origins: originList, cors: resolvedCors }),
    limits: resolveLimits(limits, DEFAULT_LIMITS, "the App"),
    precheck: {
      hosts: hostList,
      origins: originList,
      cors: originList.isEmpty ? undefined : new Cors(originList, resolvedCors),
      proxies: new ProxyTrust(trustProxy, hostList !== undefined),
    },
    topics: topics === undefined ? undefined : toLocation(topics),
    log: checkLog(log),
    basePath: checkBasePath(basePath),
    webhooks: readWebhooksOptions(webhooks),
  };
}

function checkLog(log: AppOptions["log"]): AppOptions["log"] {
  if (log === undefined || typeof log === "function") return log;
  throw new TypeError(`Cannot make the App: "log" must be a function, got ${quote(log)}; write (entry) => …`);
}
