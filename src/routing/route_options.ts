/** What a route declares, and the types that TypeScript reads off it. */
import type { DependencyLike, None } from "../binding/dependency.ts";
import type { RouteDescription } from "../http/route_info.ts";
import type { HttpRequest } from "../http/request.ts";
import type { Schema } from "../schema/schema.ts";

/** Stands in a type where a declaration is wrong, so that the compiler's message says why. */
export interface Mistake<Text extends string> {
  /** What is wrong. */
  readonly "~mistake": Text;
}

/** The names of the parameters in a path. */
export type PathNames<Path extends string> = Path extends `${string}{${infer Name}}${infer Rest}`
  ? (Name extends `${infer Base}...` ? Base : Name) | PathNames<Rest>
  : never;

/** The options of a route. Everything a handler gets is declared here, by name. */
export interface RouteOptions<
  State,
  Names extends string,
  PathInputs,
  QueryInputs,
  HeaderInputs,
  CookieInputs,
  Body,
  Dependencies,
  Model,
> extends RouteDescription {
  /** Schemas of the path's parameters. One without a schema is a string. */
  params?:
    & { readonly [Name in keyof PathInputs]: Schema<unknown, PathInputs[Name]> }
    & {
      readonly [
        Name in Exclude<
          keyof PathInputs,
          string extends Names ? keyof PathInputs : Names
        >
      ]: Mistake<"The path has no such parameter">;
    };
  /** Schemas of the query's parameters. An array takes a key as often as it is sent. */
  query?:
    & {
      readonly [Name in keyof QueryInputs]: Schema<unknown, QueryInputs[Name]>;
    }
    & {
      readonly [Name in string extends Names ? never : Names]?: Mistake<
        "The path binds this name already"
      >;
    };
  /** Schemas of headers, by names in any case; the handler finds them under `headers`. */
  headers?: {
    readonly [Name in keyof HeaderInputs]: Schema<unknown, HeaderInputs[Name]>;
  };
  /** Schemas of cookies; the handler finds them under `cookies`. */
  cookies?: {
    readonly [Name in keyof CookieInputs]: Schema<unknown, CookieInputs[Name]>;
  };
  /** The schema of the JSON body; the handler finds it under `body`. */
  body?: Schema<unknown, Body>;
  /** Values that the server supplies. */
  deps?:
    & {
      readonly [Name in keyof Dependencies]: DependencyLike<
        Dependencies[Name],
        State
      >;
    }
    & {
      readonly [Name in string extends Names ? never : Names]?: Mistake<
        "The path binds this name already"
      >;
    };
  /** The model of a success: the result is validated and reduced to it, so that nothing else can leak. */
  response?: Schema<Model, unknown>;
}

/** A value of a model as handlers may return it: read-only parts are as good as others. */
export type Returned<Model> = unknown extends Model ? unknown
  : Model extends Atom ? Model
  : { readonly [Key in keyof Model]: Returned<Model[Key]> };

/** A value without parts. */
export type Atom =
  | string
  | number
  | boolean
  | bigint
  | symbol
  | null
  | undefined
  | Date
  | Blob
  | ((...args: never[]) => unknown);

/** Refuses what the model does not have, also where it comes through a variable. */
export type Exact<Result, Model> = unknown extends Model ? unknown
  : Result extends Response | Atom | void ? unknown
  : Result extends readonly unknown[]
    ? (Model extends readonly (infer Item)[] ? readonly Exact<Result[number], Item>[] : unknown)
  : {
    readonly [Key in Exclude<keyof Result, KeysOf<Model>>]: Mistake<
      "The response model has no such property: leave it out, or declare the result as the model's type"
    >;
  };

/** The keys of every member of a union. */
export type KeysOf<Model> = Model extends unknown ? keyof Model : never;

/**
 * Registers a route: `app.get(path, options, handler)`, or `app.get(path, handler)` where nothing is declared.
 *
 * The handler must be an `async` function. It gets the request, and every declared argument by its name.
 */
export interface RegisterRoute<State, Prefix extends string> extends RegisterDeclared<State, Prefix, unknown> {
  /**
   * Registers a route that declares nothing but its path.
   *
   * @param path The path, which may hold `{name}` and end in `{name...}`.
   * @param handler Answers a request.
   * @throws {TypeError} When the handler is not async.
   * @throws {RouteError} When the path cannot be read or is taken, or it is too late to add a route.
   */
  <const Path extends string>(
    path: Path,
    handler: (
      request: HttpRequest<State>,
      args: { readonly [Name in PathNames<`${Prefix}${Path}`>]: string },
    ) => Promise<unknown> | AsyncGenerator<unknown, void, unknown>,
  ): void;
}

/** Registers a route with options, which `Extra` adds to. */
export interface RegisterDeclared<State, Prefix extends string, Extra> {
  /**
   * Registers a route.
   *
   * @param path The path, which may hold `{name}` and end in `{name...}`.
   * @param options What the route takes and gives.
   * @param handler Answers a request.
   * @throws {TypeError} When the handler is not async, or an option is wrong.
   * @throws {RouteError} When the path cannot be read or is taken, a name is bound twice, or it is too late to add a route.
   */
  <
    const Path extends string,
    PathInputs = None,
    QueryInputs = None,
    HeaderInputs = None,
    CookieInputs = None,
    Body = undefined,
    Dependencies = None,
    Model = unknown,
    const Result extends Returned<Model> | Response =
      | Returned<Model>
      | Response,
  >(
    path: Path,
    options:
      & RouteOptions<
        State,
        PathNames<`${Prefix}${Path}`>,
        PathInputs,
        QueryInputs,
        HeaderInputs,
        CookieInputs,
        Body,
        Dependencies,
        Model
      >
      & Extra,
    handler: (
      request: HttpRequest<State>,
      // Written out here, since the compiler would name an alias, with all its arguments, in every message. Nothing is
      // inferred from it: a mistake in the result would be reported at the options.
      args: NoInfer<
        {
          readonly [
            Name in
              | PathNames<`${Prefix}${Path}`>
              | keyof PathInputs
              | keyof QueryInputs
              | keyof Dependencies
              | ([keyof HeaderInputs] extends [never] ? never : "headers")
              | ([keyof CookieInputs] extends [never] ? never : "cookies")
              | (unknown extends Body ? "body" : [Body] extends [undefined] ? never : "body")
          ]: Name extends keyof QueryInputs ? QueryInputs[Name]
            : Name extends keyof Dependencies ? Dependencies[Name]
            : Name extends keyof PathInputs ? PathInputs[Name]
            : Name extends PathNames<`${Prefix}${Path}`> ? string
            : Name extends "headers" ? HeaderInputs
            : Name extends "cookies" ? CookieInputs
            : Body;
        }
      >,
    ) =>
      | Promise<Result & Exact<Result, Model>>
      | AsyncGenerator<unknown, void, unknown>,
  ): void;
}
