/** The options of an application, with their defaults and checks. */
import type { StateType } from "./binding/dependency.ts";
import { type BuiltInUrls, checkUrls } from "./built_in.ts";
import { type McpOptions, OriginPolicy } from "./describe/mcp/origin_policy.ts";
import type { WebSocketOrigins } from "./http/route_info.ts";
import { readOrigins } from "./http/websocket/handshake.ts";
import { DEFAULT_LIMITS, type Limits, type ResolvedLimits, resolveLimits } from "./http/limits.ts";
import { checkOptions, type OptionNames } from "./options.ts";
import { SCOPE_OPTIONS, type ScopeOptions } from "./routing/scope.ts";
import { toLocation } from "./topics/location.ts";
import type { KvLocation, TopicsLocation } from "./topics/location.ts";
import type { TopicStore } from "./topics/store.ts";

/**
 * Options of an {@linkcode App}.
 *
 * @category Applications
 */
export interface AppOptions<State = Record<string, unknown>> extends ScopeOptions {
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
  /**
   * The path of the endpoint for agents, whose tools are the routes with `tool`. null turns it off.
   *
   * @default {"/mcp"}
   */
  mcpUrl?: string | null;
  /** The hosts and the web pages that the endpoint for agents accepts. */
  mcp?: McpOptions;
  /** Bounds of what clients can send. Each has a safe default. */
  limits?: Limits;
  /**
   * The origins of pages that may open WebSockets, besides those of the application's own host,
   * such as `"https://books.example"`; `"*"` for all. A route can set its own.
   *
   * @default {[]}
   */
  origins?: WebSocketOrigins;
  /**
   * The store of durable topics: the path of a file; the URL of a denokv server, also with its
   * token, which any number of nodes can share; or a store of your own, which the application
   * closes when it stops. A string without `https://` or `http://` is a path. A URL with a user or
   * password is refused, because denokv uses a token.
   *
   * The default is the environment variable `WEBFW_TOPICS`; if that is not set, on Deno Deploy the
   * database of the application, and elsewhere the file `.webfw/topics.sqlite` next to the program.
   */
  topics?: TopicsLocation;
  /** The type of `request.state`, by `stateType()`. */
  state?: StateType<State>;
}

const OPTIONS: OptionNames<AppOptions> = {
  title: true,
  version: true,
  description: true,
  openapiUrl: true,
  docsUrl: true,
  mcpUrl: true,
  mcp: true,
  limits: true,
  origins: true,
  topics: true,
  state: true,
  ...SCOPE_OPTIONS,
};

/** Checked options with defaults. */
interface ResolvedAppOptions {
  readonly title: string;
  readonly version: string;
  readonly description: string | undefined;
  readonly urls: BuiltInUrls;
  readonly originPolicy: OriginPolicy;
  readonly limits: ResolvedLimits;
  readonly origins: readonly string[];
  readonly topics: KvLocation | TopicStore | undefined;
}

/**
 * Checks the options and adds the defaults.
 *
 * @throws {TypeError} If an option is unknown or cannot be used, or the path of an endpoint has a
 * parameter.
 * @throws {RouteError} If the path of an endpoint cannot be parsed.
 * @throws {RangeError} If a bound is not a positive number.
 */
export function resolveAppOptions<State>(options: AppOptions<State>): ResolvedAppOptions {
  checkOptions(options, OPTIONS, "make the App");
  const {
    title = "webfw",
    version = "0.1.0",
    description,
    openapiUrl = "/openapi.json",
    docsUrl = "/docs",
    mcpUrl = "/mcp",
    mcp = {},
    limits,
    origins = [],
    topics,
  } = options;
  return {
    title,
    version,
    description,
    urls: checkUrls({ openapiUrl, docsUrl, mcpUrl }),
    originPolicy: new OriginPolicy(mcp),
    limits: resolveLimits(limits, DEFAULT_LIMITS, "the App"),
    origins: readOrigins(origins, "the App"),
    topics: topics === undefined ? undefined : toLocation(topics),
  };
}
