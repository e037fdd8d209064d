/** What verbs return: references to routes, which write links to them. */
import { fillPath, toQuery, type ValueOf } from "../base/address.ts";
import { mountedOf } from "../http/connection.ts";
import type { RequestContext } from "../http/context.ts";
import { LINK, type LinkTarget, type LinkValues } from "../http/link.ts";
import { contextOf, type HttpRequest } from "../http/request.ts";
import { WEBSOCKET } from "../http/websocket/handshake.ts";
import { isMountable, MOUNTING, type Place } from "./mount.ts";
import type { BaseRoute } from "./route.ts";

/** The reference of a route, or of those that differ only in their method. */
export class RouteReference implements LinkTarget<readonly [values?: LinkValues]> {
  readonly #route: BaseRoute;
  readonly #action: string;

  constructor(route: BaseRoute) {
    this.#route = route;
    this.#action = `link to ${route.name}`;
    Object.freeze(this);
  }

  path(values?: LinkValues): string {
    return asPath(this.#write(this.#route, this.#route.path, (name) => valueIn(values, name)));
  }

  [LINK](request: HttpRequest, values: LinkValues, isAbsolute: boolean): string {
    const context = contextOf(request);
    const places = isMountable(context.app) ? context.app[MOUNTING].placesOf(this.#route.declared) : [];
    if (places.length === 0) {
      const outside = mountedOf(context.connection)?.link;
      if (outside) return outside(this, values, isAbsolute);
      throw new TypeError(`Cannot ${this.#action}: the application does not serve it, include its router`);
    }
    const { route, path, basePath = context.basePath } = this.#nearest(places, pathOf(context));
    const prefix = this.#prefixOf(path);
    const written = this.#write(route, path, (name) => {
      const value = valueIn(values, name);
      return value === undefined ? this.#inherited(name, prefix, request) : value;
    });
    return isAbsolute ? this.#originOf(context) + basePath + written : asPath(basePath + written);
  }

  /** The place of the include that the request came by, where there are several. */
  #nearest(places: readonly Place[], here: string): Place {
    const [first, ...others] = places;
    if (others.length === 0) return first!;
    const around = places.filter(({ path }) => isBelow(this.#prefixOf(path), here));
    const nearest = around.toSorted((a, b) => b.path.length - a.path.length)[0];
    if (nearest) return nearest;
    const [prefix] = places.map(({ path }) => this.#prefixOf(path));
    const served = places.map(({ path }) => `"${path}"`).join(" and ");
    throw new TypeError(
      `Cannot ${this.#action}: it is served at ${served}, and the request came by none of these prefixes, write request.basePath + "${prefix}" + its path(…)`,
    );
  }

  /**
   * The value of a name that only the include or the mount knows: that of the request, if it is
   * below.
   */
  #inherited(name: string, prefix: string, request: HttpRequest): string | undefined {
    const [before, ...after] = prefix.split(`{${name}}`);
    if (after.length === 0) return undefined;
    if (isBelow(`${before}{${name}}`, pathOf(contextOf(request)))) return request.params[name];
    throw new TypeError(
      `Cannot ${this.#action}: the request is not below "${prefix}" and has no "${name}", write request.basePath + the prefix + its path(…)`,
    );
  }

  /** The prefixes of includes and mounts. */
  #prefixOf(path: string): string {
    return path.slice(0, path.length - this.#route.path.length);
  }

  #write(route: BaseRoute, path: string, valueOf: ValueOf): string {
    const names = route.queryNames.filter((name) => !path.includes(`{${name}}`));
    return fillPath(path, valueOf, this.#action) + toQuery(names, valueOf, this.#action);
  }

  #originOf({ location: { origin } }: RequestContext): string {
    return this.#route.method === WEBSOCKET ? origin.replace("http", "ws") : origin;
  }
}

/** A name such as `constructor` is not inherited. */
function valueIn(values: LinkValues | undefined, name: string): unknown {
  return name in Object.prototype && !Object.hasOwn(values ?? {}, name) ? undefined : values?.[name];
}

/** A path that begins with two slashes would name a host (URL Standard, section 4.5). */
function asPath(path: string): string {
  return path.startsWith("//") ? `/.${path}` : path;
}

/** The path of the route of a request; its own path without a route. */
function pathOf({ matched, path }: RequestContext): string {
  return matched.info?.path ?? path;
}

function isBelow(prefix: string, path: string): boolean {
  return path === prefix || path.startsWith(`${prefix}/`);
}
