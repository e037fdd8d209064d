/** The options of the endpoint for agents, and the hosts and pages that may use it. */
import { isSameHost, OriginList, type Origins, readOrigin } from "../../http/origin.ts";
import { checkOptions, type OptionNames, quote } from "../../base/options.ts";
import { HTTPError } from "../../base/errors.ts";
import { Cors, type ResolvedCors } from "../../http/cors.ts";
import { HostList, isLoopbackName, readAuthority } from "../../http/host.ts";
import { isDirectLoopback } from "../../http/proxy.ts";
import { contextOf, type HttpRequest } from "../../http/request.ts";
import type { PagePolicy } from "../../routing/dispatch.ts";

/**
 * The hosts and web pages that the agent endpoint accepts, and the tools that it lists. Only
 * browsers send an origin.
 *
 * @example An application with a host name, and a page elsewhere that may call its tools
 * ```ts
 * import { App } from "@webfw/core";
 * import { assertEquals } from "@std/assert";
 *
 * const app = new App({ mcp: { hosts: ["books.example"], origins: ["https://assistant.example"] } });
 * const ask = (origin: string) =>
 *   app.fetch(
 *     new Request("https://books.example/mcp", {
 *       method: "POST",
 *       headers: { "content-type": "application/json", origin },
 *       body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "ping" }),
 *     }),
 *   );
 * assertEquals((await ask("https://assistant.example")).status, 200);
 * assertEquals((await ask("https://attacker.example")).status, 403);
 * ```
 */
export interface McpOptions {
  /**
   * The host names of the application, without port, by default those of the option `hosts`. Others
   * are refused, except IP addresses and `localhost`. Without any, only requests from the same
   * machine are checked.
   */
  hosts?: readonly string[];
  /**
   * Further origins of pages that may use the endpoint, such as `"https://assistant.example"`,
   * besides `origins` of the application; `"*"`, which is not inherited, for all. Browsers get the
   * CORS headers for `fetch` without cookies. Own pages need no entry, unless DNS rebinding can
   * reach the host name.
   *
   * @default {[]}
   */
  origins?: Origins;
  /**
   * The listed tools: `"all"`, or those that the guards permit. Calls evaluate guards in any case.
   *
   * For a list, each guard runs once on the request for the list, after the middleware of the
   * application but not of routers. Guards that read `params` or `query` run only for calls. If a
   * guard fails, the list fails.
   *
   * @default {"all"}
   */
  list?: "all" | "permitted";
}

/** @ignore Which tools are listed. */
export type ToolListing = NonNullable<McpOptions["list"]>;

const OPTIONS: OptionNames<McpOptions> = { hosts: true, origins: true, list: true };
const LISTINGS: readonly unknown[] = ["all", "permitted"] satisfies ToolListing[];

export interface McpParts {
  readonly originPolicy: OriginPolicy;
  readonly toolListing: ToolListing;
}

/** @param defaults The hosts and origins of the application. */
export function readMcp(options: McpOptions, defaults: OriginPolicyDefaults): McpParts {
  checkOptions(options, OPTIONS, "set mcp");
  const { list = "all" } = options;
  if (!LISTINGS.includes(list)) {
    throw new TypeError(`Cannot set mcp.list: it must be "all" or "permitted", got ${quote(list)}`);
  }
  return { originPolicy: new OriginPolicy(options, defaults), toolListing: list };
}

const EXPOSED_HEADERS = ["mcp-protocol-version", "mcp-session-id", "www-authenticate"];

export interface OriginPolicyDefaults {
  readonly hosts: HostList | undefined;
  readonly origins: OriginList;
  readonly cors: ResolvedCors;
}

export class OriginPolicy implements PagePolicy {
  /** Undefined if no page is accepted. */
  readonly cors: Cors | undefined;
  readonly #hosts: HostList | undefined;
  readonly #origins: OriginList;

  constructor(options: McpOptions, { hosts, origins, cors }: OriginPolicyDefaults) {
    this.#hosts = options.hosts ? new HostList(options.hosts, "mcp.hosts") : hosts;
    this.#origins = origins.named.with(OriginList.read(options.origins ?? [], "set mcp.origins"));
    const exposed = [...cors.exposed, ...EXPOSED_HEADERS];
    this.cors = this.#origins.isEmpty ? undefined : new Cors(this.#origins, { ...cors, exposed }, origins.named);
  }

  /**
   * Refuses a request under a foreign host name.
   *
   * @returns Whether the name certainly belongs to the application.
   * @throws {HTTPError} With 403.
   */
  checkHost(request: HttpRequest): boolean {
    const { host, peer } = contextOf(request);
    const name = readAuthority(host)?.name ?? "";
    const cannotBeRebound = isLoopbackName(name) || name.startsWith("[") || /^\d+(?:\.\d+){3}$/.test(name);
    const isOwnHost = cannotBeRebound || this.#hosts?.has(name) === true;
    if (!isOwnHost && (this.#hosts !== undefined || isDirectLoopback(request.headers, peer))) {
      throw new HTTPError(403, "Agents are not served under this host: the application must name it as its own");
    }
    return isOwnHost;
  }

  /** @throws {HTTPError} With 403, if a page without permission may have sent the request. */
  readonly precheck = (request: HttpRequest): void => {
    const isOwnHost = this.checkHost(request);
    const origin = request.headers.get("origin");
    if (origin === null || this.#origins.allows(origin)) return;
    const { host } = contextOf(request);
    if (isOwnHost && isSameHost(origin, host)) return;
    if (isLoopbackName(readAuthority(host)?.name) && isLoopbackName(readOrigin(origin)?.name)) return;
    throw new HTTPError(403, "Pages of this origin are refused: the application must name it as trusted");
  };
}
