/** The options of a WebSocket route, and the types of its registration. */
import type { DependencyLike, DependencyValue, None, PathValue } from "../binding/dependency.ts";
import type { WebSocketDescription } from "../http/route_info.ts";
import type { WebSocketConnection } from "../http/websocket/connection.ts";
import type { RateLimits } from "../rate_limit/rate_limit.ts";
import type { GivenSchema, Mistake, NotSchemas, OutputOf, Schemas } from "../schema/schema.ts";
import type { ArgumentOrder, FreePath, IsKnown, PathNames } from "./route_options.ts";
import type { WebSocketRef } from "./route_ref.ts";

/** The options of a WebSocket route. They declare each argument of the handler by its name. */
export interface WebSocketOptions<
  Order extends ArgumentOrder,
  State,
  Prefix extends string,
  Given,
  Path extends string,
  Names extends string,
  PathSchemas,
  QuerySchemas,
  HeaderSchemas,
  CookieSchemas,
  Dependencies,
  Receive,
  Send,
  Counted,
  ReceiveInput,
  Sent,
> extends WebSocketDescription {
  /** Schemas of the path's parameters. A parameter without a schema is a string. */
  params?: PathSchemas extends Schemas ? keyof PathSchemas extends Names ? PathSchemas
    : IsKnown<`${Prefix}${Path}`> extends false ? PathSchemas
    : Mistake<`The path has no parameter '${Exclude<keyof PathSchemas, Names> & string}'`>
    : NotSchemas<PathSchemas>;
  /** Schemas of the query's parameters. An array collects all values of a repeated key. */
  query?: QuerySchemas extends Schemas & { readonly [Name in NoInfer<Names | keyof Given>]?: never } ? QuerySchemas
    : Names & keyof QuerySchemas extends never
      ? keyof Given & keyof QuerySchemas extends never ? NotSchemas<QuerySchemas>
      : Mistake<`The deps of the scope bind '${keyof Given & keyof QuerySchemas & string}' already`>
    : Mistake<`The path binds '${Names & keyof QuerySchemas}' already`>;
  /**
   * Schemas of headers, by names in any case. The handler gets them as `headers`. Pages in browsers
   * cannot set headers of a WebSocket.
   */
  headers?: HeaderSchemas extends Schemas ? HeaderSchemas : NotSchemas<HeaderSchemas>;
  /** Schemas of cookies. The handler gets them as `cookies`. */
  cookies?: CookieSchemas extends Schemas ? CookieSchemas : NotSchemas<CookieSchemas>;
  /** Values that the server makes. They are cleaned up when the connection has ended. */
  deps?:
    & {
      readonly [Name in keyof Dependencies]: Name extends Names | keyof QuerySchemas | keyof Given
        ? Mistake<"The path, the query or the scope binds this name already">
        :
          | Mistake<"Give an async function, or what dependency(…) made for the same state">
          | DependencyLike<unknown, State>;
    }
    & Dependencies;
  /**
   * The schema of received messages, which are JSON in text. A message that does not fit closes the
   * socket with 1007. Without a schema, text comes as a string and bytes as a `Uint8Array`.
   */
  receive?: GivenSchema<ReceiveInput, Receive> | Mistake<"Give one valibot schema, such as v.object({ … })">;
  /** The schema of sent messages, which become JSON. Without one they are text or bytes. */
  send?: GivenSchema<Send, Sent> | Mistake<"Give one valibot schema, such as v.object({ … })">;
  /** How often a client may connect: one limit, or a list. */
  rateLimit?: RateLimits<Counted, State>;
}

/**
 * Registers a WebSocket route: `app.websocket(path, options, handler)`, or `app.websocket(path,
 * handler)` for a route without options.
 *
 * The handler must be an `async` function. It gets the open socket, and each declared argument by
 * its name. When it returns, the socket is closed with 1000. When it fails, the socket is closed
 * with 1011 and the error is logged.
 *
 * Middleware, dependencies and validation run before the upgrade. A request that they refuse gets
 * an ordinary reply. Pages of other origins are refused with 403, unless `origins` allows them.
 * A GET without an upgrade gets the same refusals, or else 426, unless a GET route has the same
 * path.
 */
export interface RegisterWebSocket<State, Prefix extends string, Given = None> {
  /**
   * Registers a WebSocket route without options.
   *
   * @param path The path. It may contain `{name}` and end in `{name...}`.
   * @param handler Serves one connection.
   * @returns What a typed client knows the route by.
   * @throws {TypeError} If the handler is not async.
   * @throws {RouteError} If the path is malformed or taken, or after the first request or include.
   */
  <const Path extends string>(
    path: FreePath<Path, PathNames<`${Prefix}${Path}`>, keyof Given>,
    handler: (
      socket: WebSocketConnection<string | Uint8Array<ArrayBuffer>, string | Uint8Array, State>,
      args: {
        readonly [Name in PathNames<`${Prefix}${Path}`> | keyof Given]: Name extends keyof Given
          ? DependencyValue<Given[Name]>
          : PathValue<Name, Given[keyof Given]>;
      },
    ) => Promise<void>,
  ): WebSocketRef<
    `${Prefix}${Path}`,
    None,
    None,
    never,
    never,
    string | Uint8Array<ArrayBuffer>,
    string | Uint8Array<ArrayBuffer>,
    None,
    Given
  >;
  /**
   * Registers a WebSocket route.
   *
   * @param path The path. It may contain `{name}` and end in `{name...}`.
   * @param options The options of the route.
   * @param handler Serves one connection.
   * @returns What a typed client knows the route by.
   * @throws {TypeError} If the handler is not async, or an option is wrong.
   * @throws {RouteError} If the path is malformed or taken, or a name is bound twice; also after
   *   the first request or include.
   */
  <
    const Path extends string,
    Names extends string = PathNames<`${Prefix}${Path}`>,
    PathSchemas = None,
    QuerySchemas = None,
    HeaderSchemas = never,
    CookieSchemas = never,
    Dependencies = None,
    Receive = string | Uint8Array<ArrayBuffer>,
    Send = string | Uint8Array,
    Counted = unknown,
    ReceiveInput = string | Uint8Array<ArrayBuffer>,
    Sent = string | Uint8Array<ArrayBuffer>,
  >(
    path: FreePath<Path, Names, keyof Given>,
    options: WebSocketOptions<
      ArgumentOrder,
      State,
      Prefix,
      Given,
      Path,
      Names,
      PathSchemas,
      QuerySchemas,
      HeaderSchemas,
      CookieSchemas,
      Dependencies,
      Receive,
      Send,
      Counted,
      ReceiveInput,
      Sent
    >,
    handler: (
      socket: WebSocketConnection<Receive, Send, State>,
      // Not an alias, because the compiler would show it with all its type arguments in each
      // message.
      args: {
        readonly [
          Name in NoInfer<
            | Names
            | keyof PathSchemas
            | keyof QuerySchemas
            | keyof Dependencies
            | keyof Given
            | (HeaderSchemas extends unknown ? "headers" : never)
            | (CookieSchemas extends unknown ? "cookies" : never)
          >
        ]: Name extends keyof QuerySchemas ? OutputOf<QuerySchemas[Name]>
          : Name extends keyof Dependencies ? DependencyValue<Dependencies[Name]>
          : Name extends keyof Given ? DependencyValue<Given[Name]>
          : Name extends keyof PathSchemas ? OutputOf<PathSchemas[Name]>
          : Name extends Names ? PathValue<Name, Dependencies[keyof Dependencies] | Given[keyof Given]>
          : Name extends "headers" ? { readonly [Header in keyof HeaderSchemas]: OutputOf<HeaderSchemas[Header]> }
          : { readonly [Cookie in keyof CookieSchemas]: OutputOf<CookieSchemas[Cookie]> };
      },
    ) => Promise<void>,
  ): WebSocketRef<
    `${Prefix}${Path}`,
    PathSchemas,
    QuerySchemas,
    HeaderSchemas,
    CookieSchemas,
    ReceiveInput,
    Sent,
    Dependencies,
    Given
  >;
}
