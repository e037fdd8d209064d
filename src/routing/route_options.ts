/** What a route declares, and the types that TypeScript reads off it. */
import type { DependencyLike, None } from "../binding/dependency.ts";
import type { RouteDescription } from "../http/route_info.ts";
import type { HttpRequest } from "../http/request.ts";
import type { GivenSchema, Mistake, NotSchemas, OutputOf, Schemas } from "../schema/schema.ts";
import type { FormSchema } from "../schema/form.ts";

/** The names of the parameters in a path. */
export type PathNames<Path extends string> = Path extends `${string}{${infer Name}}${infer Rest}`
  ? (Name extends `${infer Base}...` ? Base : Name) | PathNames<Rest>
  : never;

/** Whether the whole text of a path is known to the compiler: a path that is computed may hold any names. */
export type IsKnown<Path extends string> = Record<never, never> extends Record<Path, 1> ? false : true;

/**
 * Paths that may hold what is a parameter in another framework. Each path is held against it, so it
 * is quick to check rather than exact: what it takes is looked at by {@linkcode ForeignSegment}.
 */
export type SuspiciousPath =
  | `${string}/${":" | "*" | "[" | "<" | "(." | "{*" | "{+" | "{." | "{{"}${string}`
  | `${string}{${string}${":" | "?" | "*" | "+" | "="}${string}`
  | `${string}}${"." | "-" | ":" | "{"}${string}`;

/** A character at which a name begins, as far as the compiler looks. */
export type NameStart = Letter | Uppercase<Letter> | "_" | "$";

/** A small letter of ASCII. */
// deno-fmt-ignore
export type Letter =
  | "a" | "b" | "c" | "d" | "e" | "f" | "g" | "h" | "i" | "j" | "k" | "l" | "m"
  | "n" | "o" | "p" | "q" | "r" | "s" | "t" | "u" | "v" | "w" | "x" | "y" | "z";

/**
 * The segments of a path that would be parameters in another framework; never where all of them can
 * be read.
 */
export type ForeignSegment<Path extends string> = Path extends `${infer Segment}/${infer Rest}`
  ? ForeignSegment<Segment> | ForeignSegment<Rest>
  : Path extends `{${infer Name}}`
    ? Name extends `${string}${":" | "?" | "*" | "+" | "=" | "{" | "}"}${string}` | `...${string}` ? Path : never
  : Path extends
    | `:${NameStart}${string}`
    | `*${string}`
    | `(.${"*" | "+"})${string}`
    | `[${"" | "["}${"" | "..."}${NameStart}${string}]${"" | `.${string}`}`
    | `<${NameStart}${string}>${"" | `.${string}`}`
    | `{${string}}${string}` ? Path
  : never;

/** A path that is known to the compiler, unless it is written as another framework has it. */
export type PathText<Path extends string> = Path extends SuspiciousPath ? ForeignSegment<Path> extends never ? Path
  : Mistake<`Write '{name}' or '{path...}' in place of '${ForeignSegment<Path>}'`>
  : Path;

/**
 * The first argument of the types of options: the compiler's message shows it where a handler
 * stands in their place.
 */
export type ArgumentOrder = "the options come before the handler";

/** The options of a route. Everything a handler gets is declared here, by name. */
export interface RouteOptions<
  Order extends ArgumentOrder,
  State,
  Prefix extends string,
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
> extends RouteDescription {
  // Schemas are inferred as they stand, and their values are computed for the handler alone: inferring the values at once
  // costs the compiler three times as much for each parameter.

  /** Schemas of the path's parameters. One without a schema is a string. */
  params?: PathSchemas extends Schemas ? keyof PathSchemas extends Names ? PathSchemas
    : IsKnown<`${Prefix}${Path}`> extends false ? PathSchemas
    : Mistake<`The path has no parameter '${Exclude<keyof PathSchemas, Names> & string}'`>
    : NotSchemas<PathSchemas>;
  /** Schemas of the query's parameters. An array takes a key as often as it is sent. */
  query?: QuerySchemas extends Schemas & { readonly [Name in NoInfer<Names>]?: never } ? QuerySchemas
    : Names & keyof QuerySchemas extends never ? NotSchemas<QuerySchemas>
    : Mistake<`The path binds '${Names & keyof QuerySchemas}' already`>;
  /** Schemas of headers, by names in any case; the handler finds them under `headers`. */
  headers?: HeaderSchemas extends Schemas ? HeaderSchemas : NotSchemas<HeaderSchemas>;
  /** Schemas of cookies; the handler finds them under `cookies`. */
  cookies?: CookieSchemas extends Schemas ? CookieSchemas : NotSchemas<CookieSchemas>;
  /** The schema of the JSON body, or `Stream()`; the handler finds it under `body`. */
  body?: GivenSchema<unknown, Body> | Mistake<"Give one valibot schema, such as v.object({ … })">;
  /** The form that is the body, made by `Form()`; the handler finds its value under `form`. */
  form?: FormSchema<FormValue> | Mistake<"Write form: Form(schema)">;
  /** Values that the server supplies. */
  deps?: {
    readonly [Name in keyof Dependencies]: Name extends Names | keyof QuerySchemas
      ? Mistake<"The path or the query binds this name already">
      : DependencyLike<Dependencies[Name], State>;
  };
  /**
   * The model of a success: the result is validated and reduced to it, so that nothing else can leak. Of a handler that streams it
   * is the model of each value.
   */
  response?: GivenSchema<Model, unknown> | Mistake<"Give one valibot schema, such as v.object({ … })">;
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

/** The result, unless it holds what the model does not, be it through a variable. */
export type Exact<Result, Model> = ExtraKeys<Result, Model> extends never ? Result
  : Mistake<
    `The response model has no '${ExtraKeys<Result, Model>}': leave it out, or declare the result as the model's type`
  >;

/** The keys of a result, or of the items of a list, that the model does not have. */
export type ExtraKeys<Result, Model> = unknown extends Model ? never
  : Result extends readonly (infer Item)[] ? Model extends readonly (infer Wanted)[] ? ExtraKeys<Item, Wanted> : never
  : keyof Result extends KeysOf<Model> ? never
  : Result extends Response | Atom | void ? never
  : Exclude<keyof Result, KeysOf<Model>> & string;

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
    path: PathText<Path>,
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
    Names extends string = PathNames<`${Prefix}${Path}`>,
    PathSchemas = None,
    QuerySchemas = None,
    HeaderSchemas = never,
    CookieSchemas = never,
    Body = never,
    FormValue = never,
    Dependencies = None,
    Model = unknown,
    const Result extends Returned<Model> | Response =
      | Returned<Model>
      | Response,
  >(
    path: PathText<Path>,
    options:
      & RouteOptions<
        ArgumentOrder,
        State,
        Prefix,
        Path,
        Names,
        PathSchemas,
        QuerySchemas,
        HeaderSchemas,
        CookieSchemas,
        Body,
        FormValue,
        Dependencies,
        Model
      >
      & Extra,
    handler: (
      request: HttpRequest<State>,
      // Written out here, since the compiler would name an alias, with all its arguments, in every message. Nothing is
      // inferred from the names: a mistake in the result would be reported at the options.
      args: {
        readonly [
          Name in NoInfer<
            | Names
            | keyof PathSchemas
            | keyof QuerySchemas
            | keyof Dependencies
            | (HeaderSchemas extends unknown ? "headers" : never)
            | (CookieSchemas extends unknown ? "cookies" : never)
            | ([Body] extends [never] ? never : "body")
            | ([FormValue] extends [never] ? never : "form")
          >
        ]: Name extends keyof QuerySchemas ? OutputOf<QuerySchemas[Name]>
          : Name extends keyof Dependencies ? Dependencies[Name]
          : Name extends keyof PathSchemas ? OutputOf<PathSchemas[Name]>
          : Name extends Names ? string
          : Name extends "headers" ? { readonly [Header in keyof HeaderSchemas]: OutputOf<HeaderSchemas[Header]> }
          : Name extends "cookies" ? { readonly [Cookie in keyof CookieSchemas]: OutputOf<CookieSchemas[Cookie]> }
          : Name extends "body" ? Body
          : FormValue;
      },
    ) =>
      | Promise<Exact<Result, Model>>
      | AsyncGenerator<Returned<Model>, void, unknown>,
  ): void;
}
