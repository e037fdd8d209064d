/**
 * References to registered routes, which typed clients are made from. They have no content: their
 * types say what a client has to know.
 */

import type { None } from "../binding/dependency.ts";

/**
 * What the types of all references have. Each member is as it was declared; the client computes
 * what it needs for the routes that are called.
 */
export interface RouteInputs<
  Kind extends string,
  Path extends string,
  PathSchemas,
  QuerySchemas,
  HeaderSchemas,
  CookieSchemas,
  Dependencies,
  Given,
> {
  /** What the client finds the route by, such as `"GET /books/{id}"`. */
  readonly "~key": `${Kind} ${Path}`;
  /** The path with the prefix of the router. */
  readonly "~path": Path;
  /** The schemas of the path's parameters. */
  readonly "~params": PathSchemas;
  /** The schemas of the query's parameters. */
  readonly "~query": QuerySchemas;
  /** The schemas of the headers; never if there are none. */
  readonly "~headers": HeaderSchemas;
  /** The schemas of the cookies; never if there are none. */
  readonly "~cookies": CookieSchemas;
  /** The dependencies of the route. */
  readonly "~deps": Dependencies;
  /** The dependencies of its scope. */
  readonly "~scope": Given;
}

/**
 * A registered route, as the functions of an application or a router return it. Export it for
 * clients: `client<typeof api>(…)` of `@webfw/core/client` finds the routes of a module by their
 * types. At run time it is an empty object.
 *
 * @category Routes
 */
export interface RouteRef<
  Method extends string,
  Path extends string,
  PathSchemas,
  QuerySchemas,
  HeaderSchemas,
  CookieSchemas,
  Body,
  FormValue,
  Reply,
  Result,
  Yielded,
  Window,
  Dependencies = None,
  Given = None,
> extends
  RouteInputs<
    KindOf<Reply, Method>,
    Path,
    PathSchemas,
    QuerySchemas,
    HeaderSchemas,
    CookieSchemas,
    Dependencies,
    Given
  > {
  /** What the schema of the body takes; never if there is none. */
  readonly "~body": Body;
  /** What the schema of the form takes; never if there is none. */
  readonly "~form": FormValue;
  /** The schema of the reply; unknown if there is none. */
  readonly "~reply": Reply;
  /** What the handler returns; void if the reply has no content. */
  readonly "~result": Result;
  /** What an `async function*` yields; never for other handlers. */
  readonly "~yielded": Yielded;
  /** How long a reply is kept for its `Idempotency-Key`; never if the route is not idempotent. */
  readonly "~window": Window;
}

/**
 * A registered WebSocket route, as {@linkcode RouteRef} for other routes.
 *
 * @category WebSockets
 */
export interface WebSocketRef<
  Path extends string,
  PathSchemas,
  QuerySchemas,
  HeaderSchemas,
  CookieSchemas,
  Receive,
  Send,
  Dependencies = None,
  Given = None,
> extends RouteInputs<"WEBSOCKET", Path, PathSchemas, QuerySchemas, HeaderSchemas, CookieSchemas, Dependencies, Given> {
  /** What the schema of the messages from clients takes. */
  readonly "~receive": Receive;
  /** What the schema of the messages to clients gives. */
  readonly "~send": Send;
}

/**
 * What a client finds a route by besides its path: the method, or on GET the kind of its declared
 * reply, which is `EVENTS` for event streams.
 */
export type KindOf<Reply, Method extends string> = [Reply["~kind" & keyof Reply]] extends [never] ? Method
  : Method extends "GET" ? Reply["~kind" & keyof Reply] & string
  : Method;
