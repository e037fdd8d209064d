/**
 * What the types of exported routes say to a client: which routes there are, what a call takes,
 * and what it gives.
 */
import type { Json } from "./json_form.ts";
import type { CallOptions, ClientEvent, IdempotentOptions } from "./types.ts";

/** The routes of a module, by their paths. `Kind` is a method, `EVENTS` or `WEBSOCKET`. */
export type Routes<Api, Kind extends string> = {
  // A look-up by key costs the compiler half of what a conditional type over a route costs.
  [Name in keyof Api as PathOf<Api[Name]["~key" & keyof Api[Name]], Kind>]: Api[Name];
};

/** Routes by their paths. */
export type RouteTable = Readonly<Record<string, unknown>>;

/** The path in the key of a route; never if the route is of another kind. */
export type PathOf<Key, Kind extends string> = Key extends `${Kind} ${infer Path}` ? Path : never;

/** A member of the type of a route. */
export type Get<Ref, Name> = Ref[Name & keyof Ref];

/** The value that a schema takes, or that it gives. */
export type Typed<Side extends "input" | "output", Schema> = Schema extends
  { readonly "~types"?: { readonly [_ in Side]: infer Value } | undefined } ? Value : unknown;

/** The names of the parameters in a path. */
export type NamesOf<Path extends string> = Path extends `${string}{${infer Name}}${infer Rest}`
  ? (Name extends `${infer Base}...` ? Base : Name) | NamesOf<Rest>
  : never;

/** The names of the schemas that also take nothing. */
export type FreeNames<Schemas> = {
  [Name in keyof Schemas]: undefined extends Typed<"input", Schemas[Name]> ? Name : never;
}[keyof Schemas];

/** The values that a client has to give for schemas by name. */
export type Needed<Schemas> = {
  [Name in Exclude<keyof Schemas, FreeNames<Schemas>>]: Typed<"input", Schemas[Name]>;
};

/** The values that a client may give for schemas by name. */
export type Free<Schemas> = { [Name in FreeNames<Schemas>]?: Typed<"input", Schemas[Name]> };

/** One object type in place of an intersection, so that messages and editors write it out. */
export type Flat<All> = All extends infer Each ? { [Name in keyof Each]: Each[Name] } : never;

/** A body or form under its name; it can be left out if its schema takes undefined. */
export type Content<Key extends string, Value> = [Value] extends [never] ? unknown
  : undefined extends Value ? { [Name in Key]?: Value }
  : { [Name in Key]: Value };

/**
 * The headers, which can be left out if the route needs none. Those of dependencies can, because
 * the client may send them with all requests.
 */
export type HeadersOf<Schemas, Inputs> = GroupOf<Schemas, PartOf<Inputs, "headers">> extends infer Group
  ? [Group] extends [never] ? unknown
  : Record<never, never> extends Group ? { headers?: Group }
  : { headers: Group }
  : never;

/** The cookies. They can be left out, because a browser sends them by itself. */
export type CookiesOf<Schemas, Inputs> = GroupOf<Schemas, PartOf<Inputs, "cookies">> extends infer Group
  ? [Group] extends [never] ? unknown : { cookies?: Group }
  : never;

/**
 * The headers or the cookies of a route, and those of its dependencies; never if there are none.
 */
export type GroupOf<Schemas, Given> = [keyof Given] extends [never]
  ? [Schemas] extends [never] ? never : Fields<Schemas>
  : Flat<
    & ([Schemas] extends [never] ? unknown : Needed<Schemas> & Free<Schemas>)
    & {
      [Name in Exclude<keyof Given, [Schemas] extends [never] ? never : keyof Schemas>]?: Typed<"input", Given[Name]>;
    }
  >;

/** The values for schemas by name. */
export type Fields<Schemas> = Flat<Needed<Schemas> & Free<Schemas>>;

/**
 * All arguments of a call, by the names in its path and the schemas of its route. What is needed
 * comes first, because messages leave out the end of a long type.
 */
export type Arguments<Path extends string, Ref> = ArgumentsWith<Path, Ref, NeededInputs<Ref>>;

/**
 * The inputs of the dependencies of a route and of its scope. Those of a scope are guards, of which
 * only path and query are arguments.
 */
export type NeededInputs<Ref> =
  & SharedInputs<ValueOf<Get<Ref, "~deps">>>
  & Chosen<SharedInputs<ValueOf<Get<Ref, "~scope">>>, "params" | "query">;

/** The inputs that the types of several dependencies carry, together. */
export type SharedInputs<Given> = (
  Given extends { readonly "~inputs"?: infer Inputs | undefined } ? (inputs: Inputs) => void : never
) extends (inputs: infer Inputs) => void ? Inputs : unknown;

/** The types of all members. */
export type ValueOf<All> = All[keyof All];

/** The members under those of the names that there are. */
export type Chosen<All, Names> = { [Name in keyof All & Names]: All[Name] };

/** The schemas of some inputs under an option. */
export type PartOf<Inputs, Option> = Option extends keyof Inputs ? Inputs[Option] : Record<never, never>;

/** The schemas of a route, and those of its dependencies under other names. */
export type Merged<Own, Given> = [keyof Given] extends [never] ? Own : Own & Omit<Given, keyof Own>;

/** The arguments of a route whose dependencies have these inputs. */
export type ArgumentsWith<
  Path extends string,
  Ref,
  Inputs,
  Names extends string = NamesOf<Path>,
  // A dependency reads the path by a name under `query`, too.
  Params = Merged<Get<Ref, "~params">, PartOf<Inputs, "params"> & Chosen<PartOf<Inputs, "query">, Names>>,
  Query = Merged<Get<Ref, "~query">, Omit<PartOf<Inputs, "query">, Names>>,
> = Flat<
  & { [Name in Exclude<Names, keyof Params>]: string }
  & Needed<Params>
  & Needed<Query>
  & Content<"body", Get<Ref, "~body">>
  & Content<"form", Get<Ref, "~form">>
  & HeadersOf<Get<Ref, "~headers">, Inputs>
  & Free<Params>
  & Free<Query>
  & CookiesOf<Get<Ref, "~cookies">, Inputs>
>;

/** The arguments as a parameter: `undefined` stands for none. */
export type ArgumentsOf<Path extends string, Ref> = Arguments<Path, Ref> extends infer Args
  ? [keyof Args] extends [never] ? NoArguments | undefined
  : Record<never, never> extends Args ? Args | undefined
  : Args
  : never;

/** The arguments of a route without any. An empty type would take every name. */
export interface NoArguments {
  /** No name. */
  readonly [name: string]: CallMistake<"The route has no arguments">;
}

/** The options that a call of a route takes. */
export type OptionsOf<Ref> = [Get<Ref, "~window">] extends [never] ? CallOptions : IdempotentOptions;

/** A path without arguments, or a mistake if its route needs some. */
export type LonePath<Path extends string, Ref> = Arguments<Path, Ref> extends infer Args
  ? Record<never, never> extends Args ? Path
  : CallMistake<`The route needs the argument '${NeededNames<Args>}'`>
  : never;

/** The names of the arguments that a route needs. */
export type NeededNames<Args> =
  & { [Name in keyof Args]-?: Record<never, never> extends Pick<Args, Name> ? never : Name }[keyof Args]
  & string;

/** What stands in the place of a wrong path: those that there are. */
export type KnownPath<Paths extends string, Kind extends string> = [Paths] extends [never] ? CallMistake<
    `No ${RouteOf<Kind>} is exported: write client<typeof api>, where the module api exports ${VerbOf<Kind>}`
  >
  : Paths;

/** What messages call a route of a kind. */
export type RouteOf<Kind extends string> = Kind extends "EVENTS" ? "GET route with Events(…)" : `${Kind} route`;

/** The call that declares a route of a kind. */
export type VerbOf<Kind extends string> = `const name = app.${Kind extends "EVENTS" ? "get" : Lowercase<Kind>}(…)`;

/** The type of a mistake in a call: the compiler's message shows `Text`. No value has it. */
export type CallMistake<Text extends string> = Text & { readonly "~mistake": never };

/**
 * What a call gives: what a declared reply carries as `~as`, events, or else the form of the model,
 * which is that of each line if the handler is an `async function*`. Without a declaration it is
 * unknown, or undefined if the handler returns nothing.
 */
export type ReplyOf<Ref> = Get<Ref, "~reply"> extends infer Reply
  ? unknown extends Reply ? EmptyReply<Get<Ref, "~result">>
  : Reply extends { readonly "~as": infer Value } ? Value
  : Reply extends { readonly "~kind": "EVENTS" } ? AsyncIterable<ClientEvent<Json<Typed<"output", Reply>>>>
  : [Get<Ref, "~yielded">] extends [never] ? ModelForm<Typed<"output", Reply>>
  : AsyncIterable<Json<Typed<"output", Reply>>>
  : never;

/** The form in which a value of a model arrives: JSON, or the bytes of a file. */
export type ModelForm<Value> = Value extends Blob ? Blob : Json<Value>;

/** What a call gives where no model is declared. */
export type EmptyReply<Result> = [Result] extends [never] ? unknown : [Result] extends [void] ? undefined : unknown;

/** The data of the events of a route. */
export type EventsOf<Ref> = Json<Typed<"output", Get<Ref, "~reply">>>;
