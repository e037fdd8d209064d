/** The options of an application: what they are unless given, and what they must not be. */
import type { StateType } from "./binding/dependency.ts";
import { type BuiltInUrls, checkUrls } from "./built_in.ts";
import { type McpOptions, OriginPolicy } from "./describe/mcp/origin_policy.ts";
import type { WebSocketOrigins } from "./http/route_info.ts";
import { readOrigins } from "./http/websocket/handshake.ts";
import { DEFAULT_LIMITS, type Limits, type ResolvedLimits, resolveLimits } from "./http/limits.ts";
import { checkOptions, type OptionNames } from "./options.ts";
import { toLocation } from "./topics/location.ts";
import type { KvLocation, TopicsLocation } from "./topics/location.ts";
import type { TopicStore } from "./topics/store.ts";

/** Options of an {@linkcode App}. */
export interface AppOptions<State = Record<string, unknown>> {
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
  /** What the application is for. */
  description?: string;
  /**
   * The path of the OpenAPI document. null turns it off, and the page with it.
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
   * The path of the endpoint for agents, which has no tool until a route is declared with `tool`. null turns it off.
   *
   * @default {"/mcp"}
   */
  mcpUrl?: string | null;
  /** Whom the endpoint for agents answers, beside clients that are no browsers. */
  mcp?: McpOptions;
  /** Bounds of what clients can send, where they differ from the safe defaults. */
  limits?: Limits;
  /**
   * The origins of pages that may open WebSockets beside those of the application's own host, such as `"https://books.example"`;
   * `"*"` for all. A route can say otherwise.
   *
   * @default {[]}
   */
  origins?: WebSocketOrigins;
  /**
   * Where durable topics are kept: the path of a file; the address of a denokv, which any number of nodes can share; a store of your
   * own, which the application closes when it stops. A text without `https://` or `http://` is a path. An address with a user or a
   * password is refused: a denokv lets in who has the token.
   *
   * Unless given, it is what the environment variable `WEBFW_TOPICS` names, on Deno Deploy the database of the application, and
   * otherwise the file `.webfw/topics.sqlite` beside the program.
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
};

/** Options with everything filled in. */
export interface ResolvedAppOptions {
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
 * Fills in what was not given.
 *
 * @throws {TypeError} When an option is unknown, a path of an endpoint has a parameter, origins are none, or topics name no place.
 * @throws {RouteError} When the path of an endpoint cannot be read.
 * @throws {RangeError} When a bound is not a positive number.
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
