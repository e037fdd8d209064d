/** Infers calls from the types of exported routes: their paths, arguments, options and results. */
import type {
  CallOptions,
  ClientEvent,
  EventOptions,
  IdempotentOptions,
  Json,
  RawOptions,
  SocketOptions,
  TextEventOptions,
} from "./types.ts";
import type { ClientSocket } from "./websocket.ts";

/** @ignore The routes of a module by path. `Kind` is a method, `EVENTS` or `WEBSOCKET`. */
export type Routes<Api, Kind extends string> = {
  // A lookup by key costs the compiler half as much as a conditional type over a route.
  [Name in keyof Api as PathOf<Api[Name]["~key" & keyof Api[Name]], Kind>]: Api[Name];
};

/** @ignore Routes by path. */
export type RouteTable = Readonly<Record<string, unknown>>;

/** @ignore The path in the key of a route; never if the route is of another kind. */
export type PathOf<Key, Kind extends string> = Key extends `${Kind} ${infer Path}` ? Path : never;

/** @ignore A member of the type of a route. */
export type Get<Ref, Name> = Ref[Name & keyof Ref];

/** @ignore The input or output of a schema. */
export type Typed<Side extends "input" | "output", Schema> = Schema extends
  { readonly "~types"?: { readonly [_ in Side]: infer Value } | undefined } ? Value : unknown;

/** @ignore The names of the parameters in a path. */
export type NamesOf<Path extends string> = Path extends `${string}{${infer Name}}${infer Rest}`
  ? (Name extends `${infer Base}...` ? Base : Name) | NamesOf<Rest>
  : never;

/** @ignore A schema made by `hidden()`. */
export interface HiddenInput {
  /** The mark of the schema. */
  readonly "~hidden": true;
}

/** @ignore The names of the schemas that accept `undefined`, or are hidden. */
export type FreeNames<Schemas> = {
  [Name in keyof Schemas]: undefined extends Typed<"input", Schemas[Name]> ? Name
    : Schemas[Name] extends HiddenInput ? Name
    : never;
}[keyof Schemas];

/** @ignore The required values for schemas by name. */
export type Needed<Schemas> = {
  [Name in Exclude<keyof Schemas, FreeNames<Schemas>>]: Typed<"input", Schemas[Name]>;
};

/** @ignore The optional values for schemas by name. */
export type Free<Schemas> = {
  [Name in FreeNames<Schemas> as Schemas[Name] extends HiddenInput ? never : Name]?: Typed<"input", Schemas[Name]>;
};

/** @ignore One object type instead of an intersection: errors and editors print its members. */
export type Flat<All> = All extends infer Each ? { [Name in keyof Each]: Each[Name] } : never;

/** @ignore A body or a form under its name; optional if its schema accepts `undefined`. */
export type Content<Key extends string, Value> = [Value] extends [never] ? unknown
  : undefined extends Value ? { [Name in Key]?: Value }
  : { [Name in Key]: Value };

/**
 * @ignore The headers; optional if the route requires none. Those of dependencies are optional,
 * because the client may send them with all requests.
 */
export type HeadersOf<Schemas, Inputs> = GroupOf<Schemas, PartOf<Inputs, "headers">> extends infer Group
  ? [Group] extends [never] ? unknown
  : Record<never, never> extends Group ? { headers?: Group }
  : { headers: Group }
  : never;

/** @ignore The cookies, which are optional: browsers send their own. */
export type CookiesOf<Schemas, Inputs> = GroupOf<Schemas, PartOf<Inputs, "cookies">> extends infer Group
  ? [Group] extends [never] ? unknown : { cookies?: Group }
  : never;

/** @ignore The headers or cookies of a route and of its dependencies; never if there are none. */
export type GroupOf<Schemas, Given> = [keyof Given] extends [never]
  ? [Schemas] extends [never] ? never : Fields<Schemas>
  : Flat<
    & ([Schemas] extends [never] ? unknown : Needed<Schemas> & Free<Schemas>)
    & {
      [Name in Exclude<keyof Given, [Schemas] extends [never] ? never : keyof Schemas>]?: Typed<"input", Given[Name]>;
    }
  >;

/** @ignore The values for schemas by name. */
export type Fields<Schemas> = Flat<Needed<Schemas> & Free<Schemas>>;

/**
 * @ignore All arguments of a call, by the names in its path and the schemas of its route. Required
 * ones come first, because the compiler truncates long types in messages.
 */
export type Arguments<Path extends string, Ref> = ArgumentsWith<Path, Ref, NeededInputs<Ref>>;

/**
 * @ignore The inputs of the dependencies of a route and of its scope. Those of a scope are guards,
 * of which only path and query are arguments.
 */
export type NeededInputs<Ref> =
  & SharedInputs<ValueOf<Get<Ref, "~deps">>>
  & Chosen<SharedInputs<ValueOf<Get<Ref, "~scope">>>, "params" | "query">;

/** @ignore The inputs of several dependencies, as an intersection. */
export type SharedInputs<Given> = (
  Given extends { readonly "~inputs"?: infer Inputs | undefined } ? (inputs: Inputs) => void : never
) extends (inputs: infer Inputs) => void ? Inputs : unknown;

/** @ignore The types of all members. */
export type ValueOf<All> = All[keyof All];

/** @ignore The members with these names, as far as they exist. */
export type Chosen<All, Names> = { [Name in keyof All & Names]: All[Name] };

/** @ignore The schemas of inputs under an option. */
export type PartOf<Inputs, Option> = Option extends keyof Inputs ? Inputs[Option] : Record<never, never>;

/** @ignore The schemas of a route, and those of its dependencies under other names. */
export type Merged<Own, Given> = [keyof Given] extends [never] ? Own : Own & Omit<Given, keyof Own>;

/** @ignore The arguments of a route whose dependencies have these inputs. */
export type ArgumentsWith<
  Path extends string,
  Ref,
  Inputs,
  Names extends string = NamesOf<Path>,
  // A dependency may declare a path parameter under `query`.
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

/** @ignore The arguments as a parameter; `undefined` if all are optional. */
export type ArgumentsOf<Path extends string, Ref> = Arguments<Path, Ref> extends infer Args
  ? [keyof Args] extends [never] ? NoArguments | undefined
  : Record<never, never> extends Args ? Args | undefined
  : Args
  : never;

/** @ignore The arguments of a route without any. An empty type would accept every name. */
export interface NoArguments {
  /** A mistake. */
  readonly [name: string]: CallMistake<"The route has no arguments">;
}

/** @ignore The options of a call. */
export type OptionsOf<Ref> = [Get<Ref, "~window">] extends [never] ? CallOptions : IdempotentOptions;

/** @ignore A path without arguments, or a mistake if its route requires some. */
export type LonePath<Path extends string, Ref> = Arguments<Path, Ref> extends infer Args
  ? Record<never, never> extends Args ? Path
  : CallMistake<`The route needs the argument '${NeededNames<Args>}'`>
  : never;

/** @ignore The names of the required arguments. */
export type NeededNames<Args> =
  & { [Name in keyof Args]-?: Record<never, never> extends Pick<Args, Name> ? never : Name }[keyof Args]
  & string;

/** @ignore The type in place of a wrong path: the paths that exist. */
export type KnownPath<Paths extends string, Kind extends string> = [Paths] extends [never] ? CallMistake<
    `No ${RouteOf<Kind>} is exported: write client<typeof api>, where the module api exports ${VerbOf<Kind>}`
  >
  : Paths;

/** @ignore The name of a kind of route in messages. */
export type RouteOf<Kind extends string> = Kind extends "EVENTS" ? "GET route with Events(…)" : `${Kind} route`;

/** @ignore The code that declares a route of a kind. */
export type VerbOf<Kind extends string> = `const name = app.${Kind extends "EVENTS" ? "get" : Lowercase<Kind>}(…)`;

/** @ignore The type of a mistake in a call: the compiler prints `Text`. No value has this type. */
export type CallMistake<Text extends string> = Text & { readonly "~mistake": never };

/**
 * @ignore The result of a call: `~as` of a declared reply, events, or the model, or an iterable of
 * the model if the handler is an `async function*`. Without a declaration it is unknown, or
 * undefined if the handler returns nothing.
 */
export type ReplyOf<Ref> = Get<Ref, "~reply"> extends infer Reply
  ? unknown extends Reply ? EmptyReply<Get<Ref, "~result">>
  : Reply extends { readonly "~as": infer Value } ? Value
  : Reply extends { readonly "~kind": "EVENTS" } ? AsyncIterable<ClientEvent<Json<Typed<"output", Reply>>>>
  : [Get<Ref, "~yielded">] extends [never] ? ModelForm<Typed<"output", Reply>>
  : AsyncIterable<Json<Typed<"output", Reply>>>
  : never;

/** @ignore A value of a model as it arrives: JSON, or the bytes of a file. */
export type ModelForm<Value> = Value extends Blob ? Blob : Json<Value>;

/** @ignore The result of a call without a declared model. */
export type EmptyReply<Result> = [Result] extends [never] ? unknown : [Result] extends [void] ? undefined : unknown;

/** @ignore The data of the events of a route. */
export type EventsOf<Ref> = Json<Typed<"output", Get<Ref, "~reply">>>;

/** @ignore The options of events. Only text can be raw. */
export type EventOptionsOf<Data> = [Data] extends [string] ? TextEventOptions : EventOptions;

/** @ignore Whether a direction of a WebSocket has no schema: its messages are strings or bytes. */
export type IsRaw<Message> = unknown extends Message ? false : Uint8Array<ArrayBuffer> extends Message ? true : false;

/** @ignore Whether a WebSocket route has no schema at all. */
export type IsRawRoute<Ref> = true extends IsRaw<Get<Ref, "~receive">> & IsRaw<Get<Ref, "~send">> ? true : false;

/** @ignore The options of a WebSocket. */
export type SocketOptionsOf<Ref> = IsRawRoute<Ref> extends true ? [options: RawOptions<Get<Ref, "~receive">>]
  : [options?: SocketOptions<JsonMessage<Get<Ref, "~receive">>>];

/** @ignore A path without arguments and options, or a mistake if its route requires some. */
export type LoneSocketPath<Path extends string, Ref> = IsRawRoute<Ref> extends true
  ? CallMistake<"The route has no schemas, so it needs the option 'raw'">
  : LonePath<Path, Ref>;

/**
 * @ignore An open WebSocket of a route. If only one direction has a schema, the other has no
 * messages: a client cannot know whether they are JSON.
 */
export type SocketOf<Ref> = IsRawRoute<Ref> extends true ? ClientSocket<Get<Ref, "~receive">, Get<Ref, "~send">>
  : ClientSocket<JsonMessage<Get<Ref, "~receive">>, Json<JsonMessage<Get<Ref, "~send">>>>;

/** @ignore The messages of a direction, if it has a schema. */
export type JsonMessage<Message> = IsRaw<Message> extends true ? never : Message;
