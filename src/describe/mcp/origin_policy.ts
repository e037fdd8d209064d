/**
 * Which web pages may use the agent endpoint.
 *
 * A browser sends `Origin` with every POST, which gives pages of other sites away. DNS rebinding
 * gets around that: the attacker's host name is made to lead to the application's address, and then
 * `Origin` and `Host` agree. IP addresses, `localhost` and the names that the application lists
 * cannot be rebound.
 */
import { HTTPError } from "../../base/errors.ts";
import { Cors, type ResolvedCors } from "../../http/cors.ts";
import { HostList, isLoopbackName, readAuthority } from "../../http/host.ts";
import { isSameHost, OriginList, type Origins, readOrigin } from "../../http/origin.ts";
import { isDirectLoopback } from "../../http/proxy.ts";
import { contextOf, type HttpRequest } from "../../http/request.ts";
import type { PagePolicy } from "../../routing/dispatch.ts";

const EXPOSED_HEADERS = ["mcp-protocol-version", "mcp-session-id", "www-authenticate"];

/** The options of the endpoint that name hosts and pages. */
interface OriginPolicyOptions {
  readonly hosts?: readonly string[];
  readonly origins?: Origins;
}

/** The lists and options of the application. */
export interface OriginPolicyDefaults {
  readonly hosts: HostList | undefined;
  readonly origins: OriginList;
  readonly cors: ResolvedCors;
}

/** The hosts and origins that are accepted. */
export class OriginPolicy implements PagePolicy {
  /** Undefined without accepted pages. */
  readonly cors: Cors | undefined;
  readonly #hosts: HostList | undefined;
  readonly #origins: OriginList;

  /**
   * Checks the hosts and origins.
   *
   * @param options The options of the endpoint.
   * @param defaults Those of the application.
   * @throws {TypeError} If a host or origin can match no request.
   */
  constructor(options: OriginPolicyOptions, { hosts, origins, cors }: OriginPolicyDefaults) {
    this.#hosts = options.hosts ? new HostList(options.hosts, "mcp.hosts") : hosts;
    this.#origins = origins.named.with(OriginList.read(options.origins ?? [], "set mcp.origins"));
    const exposed = [...cors.exposed, ...EXPOSED_HEADERS];
    this.cors = this.#origins.isEmpty ? undefined : new Cors(this.#origins, { ...cors, exposed }, origins.named);
  }

  /**
   * Refuses a request under a host name that may not be the application's.
   *
   * @returns Whether the name is certainly its own.
   * @throws {HTTPError} With 403.
   */
  checkHost(request: HttpRequest): boolean {
    const { host, peer } = contextOf(request);
    const name = readAuthority(host)?.name ?? "";
    const isOwnHost = cannotBeRebound(name) || this.#hosts?.has(name) === true;
    if (!isOwnHost && (this.#hosts !== undefined || isDirectLoopback(request.headers, peer))) {
      throw new HTTPError(403, "Agents are not served under this host: the application has to name it as its own");
    }
    return isOwnHost;
  }

  /**
   * Refuses a request that may come from a page without permission.
   *
   * @throws {HTTPError} With 403.
   */
  readonly precheck = (request: HttpRequest): void => {
    const isOwnHost = this.checkHost(request);
    const origin = request.headers.get("origin");
    if (origin === null || this.#origins.allows(origin)) return;
    const { host } = contextOf(request);
    if (isOwnHost && isSameHost(origin, host)) return;
    if (isLoopbackName(readAuthority(host)?.name) && isLoopbackName(readOrigin(origin)?.name)) return;
    throw new HTTPError(403, "Pages of this origin are not answered: the application has to name it as trusted");
  };
}

function cannotBeRebound(name: string): boolean {
  return isLoopbackName(name) || name.startsWith("[") || /^\d+(?:\.\d+){3}$/.test(name);
}
