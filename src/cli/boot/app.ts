// What the started program relies on of an application. It knows one by its shape, since the class is another one in
// each version of the framework. Sent as text: see ../boot.ts.

/** The address that a server has got. */
export interface Address {
  readonly hostname: string;
  readonly port: number;
}

/** A route, as far as a table shows it. */
export interface RouteRow {
  readonly method: string;
  readonly path: string;
  readonly operationId?: string;
}

/** What the store holds of a topic, as far as a table shows it. */
export interface TopicRow {
  readonly name: string;
  readonly messages: number;
  readonly bytes: number;
  readonly oldest: Date | undefined;
  readonly newest: Date | undefined;
  readonly retention: { readonly age: number; readonly count: number; readonly bytes: number };
  readonly lag: { readonly messages: number; readonly gap: "retention" | "ahead" | undefined } | undefined;
  /** Why not all of it could be read; an early version of the framework does not tell. */
  readonly failure?: string | undefined;
}

/** A message, or where some are missing a gap. */
export type FollowedEntry = { readonly gap: object } | {
  readonly id: string;
  readonly time: Date;
  readonly type: string | undefined;
  readonly data: unknown;
};

/** A topic that is followed. */
export interface FollowedTopic {
  head(): Promise<string>;
  subscribe(options: { readonly from: "now" | "earliest" } | { readonly after: string }):
    & AsyncIterable<FollowedEntry>
    & { cursor(): Promise<string | undefined> };
}

/** An application of webfw, version 1 of the command's protocol. */
export interface WebfwApp {
  readonly routes: Iterable<RouteRow>;
  readonly docsUrl?: unknown;
  /** The document, in JSON; an early version of the framework has none. */
  openapi?(): unknown;
  /** What the store of durable topics holds; an early version of the framework has none. */
  reportTopics?(options: { readonly after?: string }): Promise<readonly TopicRow[]>;
  /** The topic of a name; with {@linkcode WebfwApp.reportTopics}. */
  topic?(name: string, options: { readonly durable: true }): FollowedTopic;
  /** Serves until SIGINT or SIGTERM. */
  run(options: {
    readonly hostname: string;
    readonly port: number;
    readonly onListen: (address: Address) => void;
    readonly accessLog: boolean;
    readonly reusePort?: boolean;
    readonly workers?: { readonly guests: readonly MessagePort[] } | { readonly host: MessagePort };
  }): Promise<void>;
}

/** An application of anything else. */
export interface FetchApp {
  fetch(request: Request, info: Deno.ServeHandlerInfo): Response | Promise<Response>;
}

/** What a module may export. */
export type App = WebfwApp | FetchApp;

/** Whether a value can be served. */
export function isApp(value: unknown): value is App {
  const protocol = protocolOf(value);
  return protocol === 1 ||
    protocol === undefined &&
      typeof Reflect.get(Object(value), "fetch") === "function";
}

/** Whether an application is one of webfw. */
export function isWebfwApp(app: App): app is WebfwApp {
  return protocolOf(app) === 1;
}

/** The version of the protocol that an application of webfw has; `undefined` for any other value. */
export function protocolOf(value: unknown): unknown {
  return Reflect.get(Object(value), Symbol.for("webfw.app"));
}
