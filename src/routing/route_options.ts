/** The options of routes and WebSocket routes, and the types of their registration. */
import type { Duration } from "../base/options.ts";
import type { DependencyLike, DependencyValue, InputsOf, None, PathValue, ValuesOf } from "../binding/dependency.ts";
import type { Atom, Returned, Yielded } from "../http/replies/declared_reply.ts";
import type { HttpRequest } from "../http/request.ts";
import type { RouteSettings, WebSocketSettings } from "../http/route_info.ts";
import type { WebSocketConnection } from "../http/websocket/connection.ts";
import type { IdempotencyOptions } from "../idempotency/options.ts";
import type { RateLimits } from "../rate_limit/rate_limit.ts";
import type { FormSchema } from "../schema/form.ts";
import type { Hidden } from "../schema/hidden.ts";
import type { EntriesOf, GivenSchema, InputOf, Mistake, NotSchemas, OutputOf, Schemas } from "../schema/schema.ts";

/** @ignore The names of the parameters in a path. */
export type PathNames<Path extends string> = Path extends `${string}{${infer Name}}${infer Rest}`
  ? (Name extends `${infer Base}...` ? Base : Name) | PathNames<Rest>
  : never;

/**
 * @ignore Whether the compiler knows the whole text of a path. A computed path can contain any
 * names.
 */
export type IsKnown<Path extends string> = Record<never, never> extends Record<Path, 1> ? false : true;

/**
 * @ignore A quick test for paths that may contain a parameter of another framework. It runs for
 * each path; {@linkcode ForeignCure} then decides.
 */
export type SuspiciousPath =
  | `${string}/${":" | "*" | "[" | "<" | "(." | "{*" | "{+" | "{." | "{{"}${string}`
  | `${string}{${string}${":" | "?" | "*" | "+" | "="}${string}`
  | `${string}}${"." | "-" | ":" | "{"}${string}`;

/** @ignore The first character of a name; the types only know ASCII. */
export type NameStart = Letter | Uppercase<Letter> | "_" | "$";

/** @ignore A lower-case ASCII letter. */
// deno-fmt-ignore
export type Letter =
  | "a" | "b" | "c" | "d" | "e" | "f" | "g" | "h" | "i" | "j" | "k" | "l" | "m"
  | "n" | "o" | "p" | "q" | "r" | "s" | "t" | "u" | "v" | "w" | "x" | "y" | "z";

/** @ignore A segment if it is a parameter in another framework; never if it is none. */
// deno-fmt-ignore
export type ForeignSegment<Segment extends string> = Segment extends `{${infer Name}}`
  ? Name extends `${string}${":" | "?" | "*" | "+" | "=" | "{" | "}"}${string}` | `...${string}` ? Segment : never
  : Segment extends
    | `:${NameStart}${string}`
    | `*${string}`
    | `(.${"*" | "+"})${string}`
    | `[${"" | "["}${"" | "..."}${NameStart}${string}]${"" | `.${string}`}`
    | `<${NameStart}${string}>${"" | `.${string}`}`
    | `{${string}}${string}` ? Segment
  : never;

/**
 * @ignore What to write in place of the parameters of other frameworks in a path; never if there
 * are none. Only the last segment can take the rest of a path.
 */
// deno-fmt-ignore
export type ForeignCure<Path extends string> = Path extends `${infer Segment}/${infer Rest}`
  ? (ForeignSegment<Segment> extends never ? never : `Write '{name}' in place of '${ForeignSegment<Segment>}'`) | ForeignCure<Rest>
  : ForeignSegment<Path> extends never ? never : `Write '{name}' or '{path...}' in place of '${ForeignSegment<Path>}'`;

/** @ignore A path, or a mistake if it contains a parameter of another framework. */
export type PathText<Path extends string> = Path extends SuspiciousPath
  ? ForeignCure<Path> extends never ? Path : Mistake<ForeignCure<Path>>
  : Path;

/** @ignore A path before others, or a mistake if it contains a parameter of another framework. */
export type PrefixText<Path extends string> = Path extends SuspiciousPath
  ? Path extends `${string}/${"*" | "**"}` ? Mistake<"Leave out the star at the end: what follows is taken without it">
  : ForeignCure<`${Path}/`> extends never ? Path
  : Mistake<ForeignCure<`${Path}/`>>
  : Path;

/** @ignore A path, or a mistake if it binds a name that the deps of the scope have `Taken`. */
export type FreePath<Path extends string, Names extends string, Taken> = Names & Taken extends never ? PathText<Path>
  : Mistake<`The deps of the scope bind '${Names & Taken & string}' already`>;

/** @ignore The same for a path before others. */
export type FreePrefix<Path extends string, Names extends string, Taken> = Names & Taken extends never
  ? PrefixText<Path>
  : Mistake<`The deps of the scope bind '${Names & Taken & string}' already`>;

/**
 * @ignore The first type argument of options. The compiler's message shows it if a handler is in
 * the place of the options.
 */
export type ArgumentOrder = "the options come before the handler";

/** The options of a route. They declare each argument of the handler by its name. */
export interface RouteOptions<
  Order extends ArgumentOrder,
  State,
  Prefix extends string,
  Given,
  Taken extends PropertyKey,
  Path extends string,
  Names extends string,
  PathSchemas,
  QuerySchemas,
  HeaderSchemas,
  CookieSchemas,
  Body,
  FormValue,
  Dependencies,
  Model,
  Counted,
  BodyInput,
  FormInput,
  Reply,
  Window extends Duration,
> extends RouteSettings {
  // The type parameters are the schemas, and only the handler computes their values. Inferring the
  // values directly costs the compiler three times as much for each parameter.

  /** Schemas of the path's parameters. A parameter without a schema is a string. */
  params?: PathSchemas extends Schemas ? keyof PathSchemas extends Names ? PathSchemas
    : IsKnown<`${Prefix}${Path}`> extends false ? PathSchemas
    : Mistake<`The path has no parameter '${Exclude<keyof PathSchemas, Names> & string}'`>
    : NotSchemas<PathSchemas>;
  /** Schemas of the query's parameters. An array collects all values of a repeated key. */
  query?: QuerySchemas extends Schemas & { readonly [Name in NoInfer<Names | Taken>]?: never } ? QuerySchemas
    : Names & keyof QuerySchemas extends never ? Taken & keyof QuerySchemas extends never ? NotSchemas<QuerySchemas>
      : Mistake<`The deps of the scope bind '${Taken & keyof QuerySchemas & string}' already`>
    : Mistake<`The path binds '${Names & keyof QuerySchemas}' already`>;
  /** Schemas of headers, by names in any case. The handler gets them as `headers`. */
  headers?: HeaderSchemas extends Schemas ? HeaderSchemas : NotSchemas<HeaderSchemas>;
  /** Schemas of cookies. The handler gets them as `cookies`. */
  cookies?: CookieSchemas extends Schemas ? CookieSchemas : NotSchemas<CookieSchemas>;
  /** The schema of the JSON body, or `Stream()`. The handler gets it as `body`. */
  body?: GivenSchema<BodyInput, Body> | Mistake<"Give one valibot schema, such as v.object({ … })">;
  /** The form, made by `Form()`. The handler gets its value as `form`. */
  form?: FormSchema<FormValue, FormInput> | Mistake<"Write form: Form(schema)">;
  /** Values that the server makes, by the names of their arguments. */
  deps?:
    & {
      readonly [Name in keyof Dependencies]: Name extends Names | keyof EntriesOf<QuerySchemas> | Taken
        ? Mistake<"The path, the query or the scope binds this name already">
        :
          | Mistake<"Give an async function, or what dependency(…) made for the same state">
          | DependencyLike<unknown, State>;
    }
    & Dependencies;
  /**
   * The schema of a successful result, which is validated and reduced to it, so that no other data
   * leaks; for an `async function*`, of each value. `Events(…)`, `JsonLines(…)`, `Bytes(…)`,
   * `Text(…)` and `Html()` declare replies that are not one value of JSON.
   */
  response?:
    // Not one conditional type: it would refuse a schema of a generic type.
    | (Reply & GivenSchema<Model, unknown>)
    | (Reply extends (...args: never) => unknown ? Mistake<"Call it, as in Events(schema) or Html()">
      : Mistake<"Give one valibot schema, such as v.object({ … })">);
  /** How often a client may send requests, besides the limits of its scopes. */
  rateLimit?: RateLimits<Counted, State>;
  /**
   * Repeats the reply to a request with the same `Idempotency-Key`, without running the handler
   * again: for how long, such as `"24h"`, or more options. The method must be POST, PUT, PATCH or
   * DELETE, and neither body nor reply a stream.
   */
  idempotent?: Window | IdempotencyOptions<ValuesOf<Dependencies & Given>, State, Window>;
}

/**
 * @ignore The result, or a mistake if it has keys that the model does not have, also through a
 * variable.
 */
export type Exact<Result, Model> = ExtraKeys<Result, Model> extends never ? Result
  : Mistake<
    `The response model has no '${ExtraKeys<Result, Model>}': leave it out, or declare the result as the model's type`
  >;

/** @ignore The keys of a result, or of the items of a list, that are not in the model. */
export type ExtraKeys<Result, Model> = unknown extends Model ? never
  : Result extends readonly (infer Item)[] ? Model extends readonly (infer Wanted)[] ? ExtraKeys<Item, Wanted> : never
  : keyof Result extends KeysOf<Model> ? never
  : Result extends Response | Atom | void ? never
  : Exclude<keyof Result, KeysOf<Model>> & string;

/** @ignore The keys of all members of a union. */
export type KeysOf<Model> = Model extends unknown ? keyof Model : never;

/**
 * Registers a route: `app.get(path, options, handler)`, or `app.get(path, handler)`.
 *
 * The handler is an `async` function of the request and of all declared arguments by name.
 */
export interface RegisterRoute<
  State,
  Prefix extends string,
  Given = None,
  Method extends string = string,
  Taken extends keyof Given = keyof Given,
  Bound extends string = PathNames<Prefix>,
> extends RegisterDeclared<State, Prefix, unknown, Given, Method, Taken, Bound> {
  /**
   * Registers a route without options.
   *
   * @param path The path. It may contain `{name}` and end in `{name...}`.
   * @returns A reference for typed clients.
   * @throws {TypeError} If the handler is not async.
   * @throws {RouteError} If the path is malformed or taken, or after the first request or include.
   */
  <const Path extends string, Result = unknown>(
    path: FreePath<Path, Bound | PathNames<Path>, Taken>,
    handler: (
      request: HttpRequest<State>,
      args: {
        readonly [Name in Bound | PathNames<Path> | Taken]: Name extends Taken ? DependencyValue<Given[Name]>
          : PathValue<Name, Given[keyof Given]>;
      },
    ) => Promise<Result> | AsyncGenerator<unknown, void, unknown>,
  ): RouteRef<
    Method,
    `${Prefix}${Path}`,
    None,
    None,
    never,
    never,
    never,
    never,
    unknown,
    Result,
    never,
    never,
    None,
    Given
  >;
}

/**
 * @ignore The further option of `route()`.
 */
export interface MethodsOption<Method extends string = string> {
  /** The methods to serve, at least one. */
  methods: readonly Method[];
}

/**
 * Registers a route with options, to which `Extra` may add the methods.
 *
 * `Taken` are the names of the scope's deps, and `Bound` those in its prefix. The compiler computes
 * them once for a scope, and not for each route.
 *
 * @ignore
 */
export interface RegisterDeclared<
  State,
  Prefix extends string,
  Extra,
  Given = None,
  Method extends string = string,
  Taken extends keyof Given = keyof Given,
  Bound extends string = PathNames<Prefix>,
> {
  /**
   * Registers a route.
   *
   * @param path The path. It may contain `{name}` and end in `{name...}`.
   * @returns A reference for typed clients.
   * @throws {TypeError} If the handler is not async, or an option is wrong.
   * @throws {RouteError} If the path is malformed or taken, or a name is bound twice; also after
   * the first request or include.
   */
  <
    const Path extends string,
    const Verb extends Method = Method,
    Names extends string = Bound | PathNames<Path>,
    PathSchemas = None,
    QuerySchemas = None,
    HeaderSchemas = never,
    CookieSchemas = never,
    Body = never,
    FormValue = never,
    Dependencies = None,
    Model = unknown,
    Counted = unknown,
    const Result extends Returned<Model> | Response =
      | Returned<Model>
      | Response,
    BodyInput = never,
    FormInput = never,
    Reply = unknown,
    const Item extends Yielded<Model, Reply> = never,
    Window extends Duration = never,
  >(
    path: FreePath<Path, Names, Taken>,
    options:
      & RouteOptions<
        ArgumentOrder,
        State,
        Prefix,
        Given,
        Taken,
        Path,
        Names,
        PathSchemas,
        QuerySchemas,
        HeaderSchemas,
        CookieSchemas,
        Body,
        FormValue,
        Dependencies,
        Model,
        Counted,
        BodyInput,
        FormInput,
        Reply,
        Window
      >
      & (Extra extends MethodsOption ? MethodsOption<Verb> : Extra),
    handler: (
      request: HttpRequest<State>,
      // Not an alias, because the compiler would show it with all its type arguments in each
      // message. NoInfer, because a mistake in the result would otherwise be reported at the
      // options.
      args: {
        readonly [
          Name in NoInfer<
            | Names
            | keyof PathSchemas
            | keyof EntriesOf<QuerySchemas>
            | keyof Dependencies
            | Taken
            | (HeaderSchemas extends unknown ? "headers" : never)
            | (CookieSchemas extends unknown ? "cookies" : never)
            | (Body extends unknown ? "body" : never)
            | (FormValue extends unknown ? "form" : never)
          >
        ]: Name extends Taken ? DependencyValue<Given[Name]>
          : Name extends keyof EntriesOf<QuerySchemas> ? OutputOf<EntriesOf<QuerySchemas>[Name]>
          : Name extends keyof PathSchemas ? OutputOf<PathSchemas[Name]>
          : Name extends keyof Dependencies ? DependencyValue<Dependencies[Name]>
          : Name extends Names ? PathValue<Name, Dependencies[keyof Dependencies] | Given[keyof Given]>
          : Name extends "headers"
            ? { readonly [Header in keyof EntriesOf<HeaderSchemas>]: OutputOf<EntriesOf<HeaderSchemas>[Header]> }
          : Name extends "cookies"
            ? { readonly [Cookie in keyof EntriesOf<CookieSchemas>]: OutputOf<EntriesOf<CookieSchemas>[Cookie]> }
          : Name extends "body" ? Body
          : FormValue;
      },
    ) =>
      | Promise<Exact<Result, Model>>
      | AsyncGenerator<Returned<Item>, void, unknown>,
  ): RouteRef<
    Uppercase<Verb>,
    `${Prefix}${Path}`,
    PathSchemas,
    QuerySchemas,
    HeaderSchemas,
    CookieSchemas,
    BodyInput,
    FormInput,
    Reply,
    Result,
    Item,
    Window,
    Dependencies,
    Given
  >;
}

/**
 * The options of a WebSocket route. They declare each argument of the handler by its name.
 *
 * Pages in browsers cannot set headers of a WebSocket. The values of `deps` are cleaned up when the
 * connection has ended.
 */
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
> extends
  WebSocketSettings,
  Pick<
    RouteOptions<
      Order,
      State,
      Prefix,
      Given,
      keyof Given,
      Path,
      Names,
      PathSchemas,
      QuerySchemas,
      HeaderSchemas,
      CookieSchemas,
      never,
      never,
      Dependencies,
      unknown,
      Counted,
      never,
      never,
      unknown,
      never
    >,
    "params" | "query" | "headers" | "cookies" | "deps" | "rateLimit"
  > {
  /**
   * The schema of received messages, which are JSON in text. A message that does not fit closes the
   * socket with 1007. Without a schema, text comes as a string and bytes as a `Uint8Array`.
   */
  receive?: GivenSchema<ReceiveInput, Receive> | Mistake<"Give one valibot schema, such as v.object({ … })">;
  /** The schema of sent messages, which become JSON. Without one they are text or bytes. */
  send?: GivenSchema<Send, Sent> | Mistake<"Give one valibot schema, such as v.object({ … })">;
}

/**
 * Registers a WebSocket route: `app.websocket(path, options, handler)`, or `app.websocket(path,
 * handler)` for a route without options.
 *
 * The handler is an `async` function of the open socket and of all declared arguments by name. When
 * it returns, the socket closes with 1000; when it fails, with 1011, and the error is logged.
 *
 * Middleware, dependencies and validation run before the upgrade. Pages of other origins get 403,
 * unless `origins` allows them. A GET without an upgrade gets 426, unless a GET route has the path.
 *
 * @ignore
 */
export interface RegisterWebSocket<State, Prefix extends string, Given = None> {
  /**
   * Registers a WebSocket route without options.
   *
   * @param path The path. It may contain `{name}` and end in `{name...}`.
   * @returns A reference for typed clients.
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
   * @returns A reference for typed clients.
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
            | keyof EntriesOf<QuerySchemas>
            | keyof Dependencies
            | keyof Given
            | (HeaderSchemas extends unknown ? "headers" : never)
            | (CookieSchemas extends unknown ? "cookies" : never)
          >
        ]: Name extends keyof EntriesOf<QuerySchemas> ? OutputOf<EntriesOf<QuerySchemas>[Name]>
          : Name extends keyof Dependencies ? DependencyValue<Dependencies[Name]>
          : Name extends keyof Given ? DependencyValue<Given[Name]>
          : Name extends keyof PathSchemas ? OutputOf<PathSchemas[Name]>
          : Name extends Names ? PathValue<Name, Dependencies[keyof Dependencies] | Given[keyof Given]>
          : Name extends "headers"
            ? { readonly [Header in keyof EntriesOf<HeaderSchemas>]: OutputOf<EntriesOf<HeaderSchemas>[Header]> }
          : { readonly [Cookie in keyof EntriesOf<CookieSchemas>]: OutputOf<EntriesOf<CookieSchemas>[Cookie]> };
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

/**
 * @ignore The members of all references, as they were declared: the client computes what it needs
 * for the routes that are called.
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
  /** The key of the route for the client, such as `"GET /books/{id}"`. */
  readonly "~key": `${Kind} ${Path}`;
  /** The path with the prefix of the router. */
  readonly "~path": Path;
  /** The schemas of the path. */
  readonly "~params": PathSchemas;
  /** The schemas of the query. */
  readonly "~query": EntriesOf<QuerySchemas>;
  /** Never if there are none. */
  readonly "~headers": EntriesOf<HeaderSchemas>;
  /** Never if there are none. */
  readonly "~cookies": EntriesOf<CookieSchemas>;
  /** The dependencies of the route. */
  readonly "~deps": Dependencies;
  /** The dependencies of its scope. */
  readonly "~scope": Given;
  /**
   * The path with values for its parameters, percent-encoded, and with a query of the values that
   * are given for it. The prefixes of includes are not in it: see {@linkcode HttpRequest.link}.
   *
   * @param values The values by name. Other members than the parameters are ignored.
   * @throws {TypeError} If a value is missing, or would change the path.
   */
  path(...values: PathArguments<Path, PathSchemas, EntriesOf<QuerySchemas>, Dependencies, Given>): string;
}

/** @ignore The values of a path as arguments: none if it has no parameters. */
export type PathArguments<Path extends string, PathSchemas, QuerySchemas, Dependencies, Given> = IsKnown<Path> extends
  false ? [values?: Readonly<Record<string, unknown>>]
  : PathValues<Path, PathSchemas, QuerySchemas, InputsOf<Dependencies[keyof Dependencies] | Given[keyof Given]>> extends
    infer Values ? [keyof Values] extends [never] ? [values?: NoParameters]
    : Record<never, never> extends Values ? [values?: Values]
    : [values: Values]
  : never;

/** @ignore The values of a path, and of its query, by name. A link may leave out its query. */
export type PathValues<Path extends string, PathSchemas, QuerySchemas, Inputs> = FlatValues<
  & { readonly [Name in Exclude<PathNames<Path>, keyof PathSchemas>]: GivenInput<Name, Inputs> }
  & { readonly [Name in keyof PathSchemas]: InputOf<PathSchemas[Name]> }
  & QueryValues<QuerySchemas>
  & (Inputs extends { readonly query: infer Query } ? QueryValues<Omit<Query, PathNames<Path>>> : unknown)
>;

/** @ignore The input of a path parameter that the route does not declare. */
export type GivenInput<Name, Inputs> = Inputs extends
  { readonly params: { readonly [_ in Name & string]: infer Given } } ? InputOf<Given>
  : Inputs extends { readonly query: { readonly [_ in Name & string]: infer Given } } ? InputOf<Given>
  : string;

/** @ignore The values of a query by name. */
export type QueryValues<Schemas> = {
  readonly [Name in keyof Schemas as Schemas[Name] extends Hidden ? never : Name]?: InputOf<Schemas[Name]> | undefined;
};

/** @ignore One object type instead of an intersection: errors and editors print its members. */
export type FlatValues<All> = All extends infer Each ? { [Name in keyof Each]: Each[Name] } : never;

/** @ignore The values of a route without parameters. An empty type would accept every name. */
export interface NoParameters {
  /** A mistake. */
  readonly [name: string]: Mistake<"The route has no parameters">;
}

/**
 * A registered route. Export it for clients: `client<typeof api>(…)` of `@webfw/core/client` finds
 * the routes of a module by their types. At run time it only writes links.
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
  /** The input of the body's schema; never if there is none. */
  readonly "~body": Body;
  /** The input of the form's schema; never if there is none. */
  readonly "~form": FormValue;
  /** The schema of the reply; unknown if there is none. */
  readonly "~reply": Reply;
  /** The result of the handler; void if the reply has no content. */
  readonly "~result": Result;
  /** The values of an `async function*`; never for other handlers. */
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
  /** The input of the schema of messages from clients. */
  readonly "~receive": Receive;
  /** The output of the schema of messages to clients. */
  readonly "~send": Send;
}

/**
 * @ignore The key of a route besides its path: the method, or on GET the kind of its reply, such as
 * `EVENTS`.
 */
export type KindOf<Reply, Method extends string> = [Reply["~kind" & keyof Reply]] extends [never] ? Method
  : Method extends "GET" ? Reply["~kind" & keyof Reply] & string
  : Method;
