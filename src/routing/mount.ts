/** Mounts: handlers of the platform's requests that get everything below a path. */
import type { None } from "../binding/dependency.ts";
import { type ConnectionInfo, contextOf, type HttpRequest } from "../http/request.ts";
import type { RouteInfo } from "../http/route_info.ts";
import { HTTPError } from "../errors.ts";
import { type OptionNames, quote, readOptions } from "../options.ts";
import type { PathTemplate, Segment } from "./path.ts";
import { Route, type RouteParts, routeParts, type RouteRecord } from "./route.ts";
import type { FreePrefix, PathNames } from "./route_options.ts";
import type { Scope } from "./scope.ts";
import { ANY_METHOD } from "./table.ts";

/** What a mounted handler learns of a request besides the request itself. */
export interface MountInfo<State = Record<string, unknown>> extends ConnectionInfo {
  /** The request as the application sees it: its state, path parameters and locals. */
  readonly request: HttpRequest<State>;
}

/** A handler for `mount`: a function of the platform's `Request`, as other frameworks export it. */
export type MountedHandler<State = Record<string, unknown>> = (
  request: Request,
  info: MountInfo<State>,
) => Response | Promise<Response>;

/** Options of a mount. */
export interface MountOptions {
  /**
   * Whether the handler sees the path without that of the mount: `/hello` for `/other/hello`.
   *
   * @default {true}
   */
  strip?: boolean;
}

/**
 * Hands everything below a path to a handler of the platform's `Request`: another framework, or a
 * GraphQL server. It gets any method, and the path itself, too.
 *
 * The middleware and the guards of the scopes run before it. Routes and built-in endpoints with a
 * more specific path come first. The handler reads the body from its request, as an unread stream
 * without a limit of size. A mount is not in the document.
 *
 * The handler cannot accept a WebSocket: it sees the request as a GET. A WebSocket route can have
 * the same path.
 */
export interface RegisterMount<State, Prefix extends string, Given = None> {
  /**
   * Mounts a handler.
   *
   * @param path The path. It may contain `{name}`, which the handler finds in
   * `info.request.params`.
   * @param handler Answers a request.
   * @param options Whether the handler sees the whole path.
   * @throws {TypeError} If the handler is not a function, or an option is wrong.
   * @throws {RouteError} With code `conflict`, if a route has the path or takes all below it, or a
   * dependency has a name of the path; with code `path`, if the path is malformed; with code
   * `frozen` after the first request or include.
   */
  <const Path extends string>(
    path: FreePrefix<Path, PathNames<`${Prefix}${Path}`>, keyof Given>,
    handler: MountedHandler<State>,
    options?: MountOptions,
  ): void;
}

const MOUNT_OPTIONS: OptionNames<MountOptions> = { strip: true };

/** A mount is not in the document. */
const OPTIONS: RouteInfo["options"] = { hidden: true };

/** A route for all methods of a path and of everything below it. */
export class MountRoute extends Route {
  readonly #mounted: MountedHandler;
  readonly #strips: boolean;

  private constructor(parts: RouteParts, mounted: MountedHandler, strips: boolean) {
    super(parts, handlerOf(mounted, strips ? parts.template.segments.length : 0));
    this.#mounted = mounted;
    this.#strips = strips;
  }

  /**
   * Checks a mount and makes its record.
   *
   * @param path The path with the prefix of the router; empty for the root.
   * @throws {TypeError} If the handler is no function, or an option is wrong.
   * @throws {RouteError} If a name is bound twice.
   */
  static mount(path: string, mounted: unknown, options: MountOptions, scope: Scope): MountRoute {
    const action = `mount at "${path}"`;
    const { strip = true } = readOptions(options, MOUNT_OPTIONS, action);
    if (typeof mounted !== "function") {
      throw new TypeError(
        `Cannot ${action}: the handler must be a function, got ${quote(mounted)}; ${cureFor(mounted)}`,
      );
    }
    if (typeof strip !== "boolean") {
      throw new TypeError(`Cannot ${action}: "strip" must be true or false, got ${quote(strip)}`);
    }
    return new MountRoute(routeParts(ANY_METHOD, path, OPTIONS, "", scope, []), mounted as MountedHandler, strip);
  }

  override get path(): string {
    return this.template.text === "" ? "/" : this.template.text;
  }

  override get name(): string {
    return `the mount ${this.path}`;
  }

  override get shapes(): readonly string[] {
    const { shape } = this.template;
    return [shape, `${shape}/`, `${shape}/{...}`];
  }

  override get patterns(): readonly (readonly Segment[])[] {
    const { segments } = this.template;
    return [segments, [...segments, { kind: "literal", text: "" }], [...segments, { kind: "rest", name: "" }]];
  }

  override under(prefix: PathTemplate, outer: readonly Scope[]): MountRoute {
    return new MountRoute(this.partsUnder(prefix, outer), this.#mounted, this.#strips);
  }

  override replacing(...given: Parameters<RouteRecord["replacing"]>): MountRoute {
    return new MountRoute(this.partsReplacing(...given), this.#mounted, this.#strips);
  }
}

/** What to write in place of a value that is no function. */
function cureFor(mounted: unknown): string {
  if (typeof mounted === "string") return "for a folder, use app.files";
  const isApplication = typeof mounted === "object" && mounted !== null && "fetch" in mounted;
  return isApplication ? "give its fetch, as in other.fetch" : "write (request) => new Response(…)";
}

/** Makes the handler of a mount, which drops the first segments of the path. */
function handlerOf(mounted: MountedHandler, dropped: number): (request: HttpRequest) => Promise<Response> {
  return async (request) => {
    const response = await mounted(toPlatform(request, dropped), infoOf(request));
    if (response instanceof Response) return response;
    throw new TypeError(`Cannot reply to ${request.route?.path}: the mounted handler returned ${quote(response)}`);
  };
}

/** Deno's object has getters, which a copy does not get. An unread `completed` costs nothing. */
function infoOf(request: HttpRequest): MountInfo {
  const { connection } = contextOf(request);
  if (!connection) return { request };
  // A mapped type without "?" would lose undefined in projects without exactOptionalPropertyTypes.
  const info: {
    readonly remoteAddr: Deno.Addr | undefined;
    readonly completed: Promise<void> | undefined;
    readonly request: HttpRequest;
  } = {
    get remoteAddr() {
      return connection.remoteAddr;
    },
    get completed() {
      return connection.completed;
    },
    request,
  };
  return info as MountInfo;
}

/**
 * The methods that a `Request` cannot have: `TRACE`, `TRACK`, `CONNECT`, and the others in lower
 * case, some of which it would write in upper case.
 */
const NO_METHOD = /^(?:TRACE|TRACK|CONNECT)$|[a-z]/;

/**
 * The platform's request, with the body as an unread stream.
 *
 * @throws {HTTPError} With 501, if it cannot have the method.
 */
function toPlatform(request: HttpRequest, dropped: number): Request {
  if (NO_METHOD.test(request.method)) throw new HTTPError(501, "The method cannot be served here");
  const { raw, path, url: { origin } } = request;
  let start = 0;
  for (let left = dropped; left > 0 && start < path.length; left--) {
    const next = path.indexOf("/", start + 1);
    start = next < 0 ? path.length : next;
  }
  const { pathEnd, forwarded } = contextOf(request);
  const rest = path.slice(start) + raw.url.slice(pathEnd);
  const hasBody = raw.method !== "GET" && raw.method !== "HEAD";
  const platform = new Request(origin + (rest.startsWith("/") ? rest : `/${rest}`), {
    method: raw.method,
    headers: raw.headers,
    body: hasBody && raw.body !== null ? request.stream() : null,
  });
  // It has to be that of the URL, which has the host that a proxy names.
  if (forwarded?.host !== undefined) platform.headers.set("host", forwarded.host);
  // Handlers that accept WebSockets would answer 101, and the connection is not theirs.
  platform.headers.delete("upgrade");
  // To read the signal of a server's request costs a listener, so only handlers that use it do.
  Object.defineProperty(platform, "signal", { get: () => request.signal });
  return platform;
}
