/** What a WebSocket route declares, and the types that TypeScript reads off it. */
import type { DependencyLike, None } from "../binding/dependency.ts";
import type { WebSocketDescription } from "../http/route_info.ts";
import type { WebSocketConnection } from "../http/websocket/connection.ts";
import type { GivenSchema, Mistake, NotSchemas, OutputOf, Schemas } from "../schema/schema.ts";
import type { ArgumentOrder, IsKnown, PathNames, PathText } from "./route_options.ts";

/** The options of a WebSocket route. Everything a handler gets is declared here, by name, as for any route. */
export interface WebSocketOptions<
  Order extends ArgumentOrder,
  State,
  Prefix extends string,
  Path extends string,
  Names extends string,
  PathSchemas,
  QuerySchemas,
  HeaderSchemas,
  CookieSchemas,
  Dependencies,
  Receive,
  Send,
> extends WebSocketDescription {
  /** Schemas of the path's parameters. One without a schema is a string. */
  params?: PathSchemas extends Schemas ? keyof PathSchemas extends Names ? PathSchemas
    : IsKnown<`${Prefix}${Path}`> extends false ? PathSchemas
    : Mistake<`The path has no parameter '${Exclude<keyof PathSchemas, Names> & string}'`>
    : NotSchemas<PathSchemas>;
  /** Schemas of the query's parameters. An array takes a key as often as it is sent. */
  query?: QuerySchemas extends Schemas & { readonly [Name in NoInfer<Names>]?: never } ? QuerySchemas
    : Names & keyof QuerySchemas extends never ? NotSchemas<QuerySchemas>
    : Mistake<`The path binds '${Names & keyof QuerySchemas}' already`>;
  /** Schemas of headers, by names in any case; the handler finds them under `headers`. Browsers let no page set any. */
  headers?: HeaderSchemas extends Schemas ? HeaderSchemas : NotSchemas<HeaderSchemas>;
  /** Schemas of cookies; the handler finds them under `cookies`. */
  cookies?: CookieSchemas extends Schemas ? CookieSchemas : NotSchemas<CookieSchemas>;
  /** Values that the server supplies. They are cleaned up when the connection has ended. */
  deps?: {
    readonly [Name in keyof Dependencies]: Name extends Names | keyof QuerySchemas
      ? Mistake<"The path or the query binds this name already">
      : DependencyLike<Dependencies[Name], State>;
  };
  /**
   * The schema of the messages that come, as JSON in text. One that does not fit closes the socket with 1007. Without a schema, text
   * comes as a string and bytes as a `Uint8Array`.
   */
  receive?: GivenSchema<unknown, Receive> | Mistake<"Give one valibot schema, such as v.object({ … })">;
  /** The schema of the messages that go, as JSON. Without one they are strings, sent as text, or bytes. */
  send?: GivenSchema<Send, unknown> | Mistake<"Give one valibot schema, such as v.object({ … })">;
}

/**
 * Registers a WebSocket route: `app.websocket(path, options, handler)`, or `app.websocket(path, handler)` where nothing is declared.
 *
 * The handler must be an `async` function. It gets the open socket, and every declared argument by its name. When it returns, the
 * socket is closed with 1000; when it fails, with 1011, and the error is logged.
 *
 * Middleware, dependencies and validation run before the upgrade: what they refuse is an ordinary reply. Pages of other origins
 * than the application's own are refused with 403, unless `origins` allows them; a request without an upgrade is answered with 426,
 * unless a GET route has the same path.
 */
export interface RegisterWebSocket<State, Prefix extends string> {
  /**
   * Registers a WebSocket route that declares nothing but its path.
   *
   * @param path The path, which may hold `{name}` and end in `{name...}`.
   * @param handler Converses with a client.
   * @throws {TypeError} When the handler is not async.
   * @throws {RouteError} When the path cannot be read or is taken, or it is too late to add a route.
   */
  <const Path extends string>(
    path: PathText<Path>,
    handler: (
      socket: WebSocketConnection<string | Uint8Array<ArrayBuffer>, string | Uint8Array, State>,
      args: { readonly [Name in PathNames<`${Prefix}${Path}`>]: string },
    ) => Promise<void>,
  ): void;
  /**
   * Registers a WebSocket route.
   *
   * @param path The path, which may hold `{name}` and end in `{name...}`.
   * @param options What the route takes and sends.
   * @param handler Converses with a client.
   * @throws {TypeError} When the handler is not async, or an option is wrong.
   * @throws {RouteError} When the path cannot be read or is taken, a name is bound twice, or it is too late to add a route.
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
  >(
    path: PathText<Path>,
    options: WebSocketOptions<
      ArgumentOrder,
      State,
      Prefix,
      Path,
      Names,
      PathSchemas,
      QuerySchemas,
      HeaderSchemas,
      CookieSchemas,
      Dependencies,
      Receive,
      Send
    >,
    handler: (
      socket: WebSocketConnection<Receive, Send, State>,
      // Written out here, since the compiler would name an alias, with all its arguments, in every message.
      args: {
        readonly [
          Name in NoInfer<
            | Names
            | keyof PathSchemas
            | keyof QuerySchemas
            | keyof Dependencies
            | (HeaderSchemas extends unknown ? "headers" : never)
            | (CookieSchemas extends unknown ? "cookies" : never)
          >
        ]: Name extends keyof QuerySchemas ? OutputOf<QuerySchemas[Name]>
          : Name extends keyof Dependencies ? Dependencies[Name]
          : Name extends keyof PathSchemas ? OutputOf<PathSchemas[Name]>
          : Name extends Names ? string
          : Name extends "headers" ? { readonly [Header in keyof HeaderSchemas]: OutputOf<HeaderSchemas[Header]> }
          : { readonly [Cookie in keyof CookieSchemas]: OutputOf<CookieSchemas[Cookie]> };
      },
    ) => Promise<void>,
  ): void;
}
