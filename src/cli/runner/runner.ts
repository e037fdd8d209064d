/**
 * The program in the application's process. Only the source of its class is sent (see
 * ../launch.ts), so classes of this folder use nothing but the platform and the class that they
 * extend.
 */

export interface RunnerOptions {
  /** As the user wrote it. */
  readonly module: string;
  /** `null` for `app`, else `default`. */
  readonly attribute: string | null;
  readonly parent: number;
  readonly isWatched: boolean;
}

export type Load = () => Promise<Readonly<Record<string, unknown>>>;

export interface Address {
  readonly hostname: string;
  readonly port: number;
}

/** Version 1 of the protocol with the framework. */
export interface WebfwApp {
  readonly routes: Iterable<{ readonly method: string; readonly path: string; readonly operationId?: string }>;
  readonly docsUrl?: unknown;
  openapi(): unknown;
  reportTopics(
    options: { readonly after?: string },
  ): Promise<{ readonly topics: readonly TopicReport[]; readonly crons: readonly CronReport[] }>;
  topic(name: string, options: { readonly durable: true }): Topic;
  readonly consumers: {
    pause(name: string): Promise<void>;
    resume(name: string): Promise<void>;
    retry(name: string): Promise<Redelivery>;
    redrive(name: string): Promise<Redelivery>;
    remove(name: string): Promise<void>;
  };
  run(options: {
    readonly hostname?: string;
    readonly port: number;
    readonly signal?: AbortSignal;
    readonly onListen: (address: Address) => void;
    readonly accessLog?: boolean;
    readonly reusePort?: boolean;
    readonly compress?: boolean;
    readonly drainDelay?: number;
    readonly workers?: { readonly guests: readonly MessagePort[] } | { readonly host: MessagePort };
  }): Promise<void>;
}

export interface RouteAccess {
  readonly guards: readonly string[];
  /** `per` is in milliseconds. */
  readonly limits: readonly { readonly limit: number; readonly per: number }[];
}

export interface AppProtocol {
  readonly version: 1;
  readonly asyncapi?: () => Promise<unknown>;
  /** The guards and limits of each route. Missing in earlier versions of the framework. */
  readonly access?: () => readonly RouteAccess[];
  readonly checkTopic: (name: string) => Promise<void>;
  /** Missing in versions of the framework without stores in SQL. */
  readonly storeSchema?: () => Promise<string>;
  /** Missing in versions of the framework without a board. */
  readonly showBoard?: () => string;
}

/** See `Command` of the framework. */
export interface CommandGlobal {
  main?: string;
  settings?: unknown[];
  readsOnly?: boolean;
  isLoading?: boolean;
  readonly refusal?: Error;
}

export interface TopicReport {
  readonly name: string;
  readonly messages: number;
  readonly bytes: number;
  readonly oldest: Date | undefined;
  readonly newest: Date | undefined;
  readonly retention: { readonly age: number; readonly count: number; readonly bytes: number };
  readonly lag: { readonly messages: number; readonly gap: "retention" | "ahead" | undefined } | undefined;
  /** Why a part could not be read. */
  readonly failure?: string | undefined;
  /** Missing in versions of the framework without scheduled messages. */
  readonly scheduled?: number;
  /** Missing in versions of the framework without consumers. */
  readonly consumers?: readonly ConsumerReport[];
}

export interface ConsumerReport {
  readonly name: string;
  readonly position: string;
  /** The age of the oldest unhandled message. */
  readonly lag: number;
  readonly inFlight: number;
  readonly failures: number;
  readonly lost: number;
  readonly lastError: string | undefined;
  readonly paused?: Date | undefined;
}

export interface Redelivery {
  readonly redelivered: number;
  readonly gone: readonly string[];
}

export interface CronReport {
  readonly name: string;
  readonly schedule: string;
  readonly timeZone: string;
  readonly next: Date;
  readonly running: { readonly began: Date } | undefined;
  readonly last: { readonly scheduled: Date } | undefined;
  readonly runs: number;
  readonly failures: number;
  readonly skipped: number;
  readonly lastError: { readonly at: Date; readonly error: string } | undefined;
}

export interface Topic {
  head(): Promise<string>;
  subscribe(options: { readonly from: "now" | "earliest" } | { readonly after: string }):
    & AsyncIterable<TopicEntry>
    & { cursor(): Promise<string | undefined> };
}

export type TopicEntry = { readonly gap: object } | {
  readonly id: string;
  readonly time: Date;
  readonly type: string | undefined;
  readonly data: unknown;
};

/** Of another framework. */
export interface FetchApp {
  fetch(request: Request, info: Deno.ServeHandlerInfo): Response | Promise<Response>;
}

export type RunnableApp = WebfwApp | FetchApp;

/** Loads an application, and runs one command on it. */
export abstract class Runner<Options extends RunnerOptions = RunnerOptions> {
  protected readonly options: Options;
  readonly #load: Load;

  constructor(load: Load, options: Options) {
    this.#load = load;
    this.options = options;
  }

  abstract run(): Promise<void>;

  protected async loadApp(): Promise<RunnableApp> {
    const { module: path, attribute } = this.options;
    const { loaded, refusal } = await this.importModule();
    if (refusal !== undefined) {
      // The message has the cure; the last frame is the call in the user's module.
      const place = refusal.stack?.split("\n").findLast((line) => line.startsWith("    at ")) ?? "";
      return await this.fail(`${refusal.message} ${place.trim()}`.trimEnd());
    }
    if (loaded.status === "rejected") return await this.failToLoad(loaded.reason);
    const module = loaded.value;
    const names = attribute === null ? ["app", "default"] : [attribute];
    const name = names.find((name) => name in module);
    if (name === undefined) {
      const wanted = names.map((name) => `"${name}"`).join(" or ");
      const exported = Object.keys(module).map((name) => `"${name}"`).join(", ");
      return await this.fail(
        `Cannot find ${wanted} in "${path}": it exports ${exported || "nothing"}, export the application as "${
          names[0]
        }"`,
      );
    }
    const value = module[name];
    if (this.#isRunnable(value)) return value;
    const protocol = this.#versionOf(value);
    return await this.fail(
      protocol === undefined
        ? `Cannot use "${name}" of "${path}": it is neither an App nor an object with a "fetch" function`
        : `Cannot use "${name}" of "${path}": it needs version ${protocol} of the command's protocol, this is 1`,
    );
  }

  /** `refusal` is the error of App.run() during the import. */
  protected async importModule(): Promise<
    { loaded: PromiseSettledResult<Readonly<Record<string, unknown>>>; refusal: Error | undefined }
  > {
    // Now App.run() throws, and stores its error: a module may not await it. The frames of the user
    // are below those of the framework.
    const { stackTraceLimit } = Error;
    Error.stackTraceLimit = 50;
    this.command.isLoading = true;
    const [loaded] = await Promise.allSettled([this.#load()]);
    Error.stackTraceLimit = stackTraceLimit;
    this.command.isLoading = false;
    return { loaded, refusal: this.command.refusal };
  }

  /** Each version of the framework has another class. */
  protected isWebfwApp(app: RunnableApp): app is WebfwApp {
    return this.#versionOf(app) === 1;
  }

  /** A killed command sends no signal, and stdin belongs to the application. */
  protected stopWithParent(): void {
    const killAfterMs = 15_000;
    // On Windows the id of the parent stays the same: no effect there.
    const watch = setInterval(() => {
      if (Deno.ppid === this.options.parent) return;
      clearInterval(watch);
      Deno.kill(Deno.pid, "SIGINT");
      Deno.unrefTimer(setTimeout(() => Deno.kill(Deno.pid, "SIGKILL"), killAfterMs));
    }, 500);
    Deno.unrefTimer(watch);
  }

  /** Stdout is for the result. */
  protected keepStdout(): void {
    for (const method of ["log", "info", "debug", "table", "dir"] as const) console[method] = console.error;
  }

  protected write(text: string): void {
    this.#writeTo(Deno.stdout, text);
  }

  /** OpenTelemetry would record a line of the console as an error. */
  protected printLine(line: string): void {
    try {
      this.#writeTo(Deno.stderr, `${line}\n`);
    } catch {
      // Its reader has ended: keep serving.
    }
  }

  #writeTo(output: typeof Deno.stdout | typeof Deno.stderr, text: string): void {
    const bytes = new TextEncoder().encode(text);
    for (let written = 0; written < bytes.length;) written += output.writeSync(bytes.subarray(written));
  }

  /** Exits with code 1; in a watcher, waits for an edit. */
  protected async fail(message: string): Promise<never> {
    console.error(`error: ${message}`);
    return await this.#exitOrWait();
  }

  /** If no edit can correct the failure: also ends the watcher. */
  protected failForGood(message: string): never {
    console.error(`error: ${message}`);
    // Deno.exit() would leave the watcher waiting.
    if (this.options.isWatched) Deno.kill(Deno.pid, "SIGKILL");
    Deno.exit(1);
  }

  /** For errors of the user's code. Shows the frames of its own files. */
  protected async failWith(message: string, thrown: unknown): Promise<never> {
    const colors = !Deno.noColor && Deno.stderr.isTerminal();
    const lines = Deno.inspect(thrown, { colors }).split("\n");
    const report = this.#withoutFrames(lines, (line) => this.#isOwnFrame(line));
    const foreign =
      /^\s+(?:at .*(?:\/@webfw\/core[@/]|\b(?:ext|node):|<anonymous>)|\.{3} \d+ lines matching cause stack trace )/;
    const own = this.#withoutFrames(report, (line) => foreign.test(line));
    const env = { name: "env", variable: "WEBFW_LOG" } as const;
    const isFull = Deno.permissions.querySync(env).state === "granted" && Deno.env.get(env.variable) === "full";
    return await this.fail(`${message}\n${(isFull || !/^\s+at /m.test(own.join("\n")) ? report : own).join("\n")}`);
  }

  #withoutFrames(lines: readonly string[], isLeftOut: (line: string) => boolean): string[] {
    const kept: string[] = [];
    for (const line of lines) {
      if (!isLeftOut(line)) kept.push(line);
      // The last frame can end with the brace before a cause.
      else if (line.endsWith(" {")) kept.push(`${kept.pop() ?? ""} {`);
    }
    return kept;
  }

  /** Waits some turns of the event loop, without an event: the watcher misses earlier edits. */
  protected async watcherIsReady(): Promise<void> {
    if (this.options.isWatched) await new Promise((resolve) => setTimeout(resolve, 100));
  }

  /** An error thrown by a module has a stack; other failures are one line. */
  protected async failToLoad(error: unknown): Promise<never> {
    const { module } = this.options;
    // Its message is complete.
    if (error instanceof Error && error.name === "CannotStartError") return await this.fail(error.message);
    if (!(error instanceof Error) || this.#hasForeignFrame(error)) {
      return await this.failWith(`"${module}" threw while it was loaded`, error);
    }
    const { stripVTControlCharacters } = await import("node:util");
    const message = stripVTControlCharacters(error.message).replaceAll(/ (from|at) "?data:text\/javascript,\S*/g, "");
    const [problem = "", ...details] = message.split("\n").map((line) => line.trim());
    const cause = details.find((line) => line.startsWith("0: "))?.slice(1) ?? "";
    const place = details.findLast((line) => line.startsWith("at ")) ?? "";
    console.error(`error: Cannot load "${module}": ${problem.replace(/\.$/, "")}${cause} ${place}`.trimEnd());
    return await this.#exitOrWait(/^Module not found "(file:[^"]+)"/.exec(problem)?.[1]);
  }

  /** The stack contains code of the user. */
  #hasForeignFrame({ message, stack = "" }: Error): boolean {
    const frames = stack.slice(stack.indexOf(message) + message.length).split("\n")
      .filter((line) => /^\s+at .*:\d+:\d+\)?$/.test(line));
    return frames.length === 0 || !frames.every((line) => this.#isOwnFrame(line));
  }

  #isOwnFrame(line: string): boolean {
    return /^\s+at .*data:text\/javascript,/.test(line);
  }

  /** Exits with code 1; in a watcher, waits for an edit or for the missing file. */
  async #exitOrWait(missing?: string): Promise<never> {
    if (!this.options.isWatched) Deno.exit(1);
    await this.watcherIsReady();
    console.error("Waiting for a change");
    return await new Promise(() => {
      setInterval(() => {
        // The watcher knows only files that exist: SIGHUP requests a new start from the command.
        if (missing !== undefined && Deno.build.os !== "windows" && this.#isReadable(new URL(missing))) {
          Deno.kill(Deno.pid, "SIGHUP");
        }
      }, 200);
    });
  }

  /** False without permission. */
  #isReadable(file: URL): boolean {
    if (Deno.permissions.querySync({ name: "read", path: file }).state !== "granted") return false;
    try {
      return Deno.statSync(file).isFile;
    } catch {
      return false;
    }
  }

  #isRunnable(value: unknown): value is RunnableApp {
    const protocol = this.#versionOf(value);
    return protocol === 1 || protocol === undefined && typeof Reflect.get(Object(value), "fetch") === "function";
  }

  /** Made by the program that starts the runner. */
  protected get command(): CommandGlobal {
    return Reflect.get(globalThis, Symbol.for("webfw.command"));
  }

  /** The functions of an App for the command line. */
  protected protocolOf(app: WebfwApp): AppProtocol {
    return Reflect.get(app, Symbol.for("webfw.app"));
  }

  /** `undefined` if the value is no App. */
  #versionOf(value: unknown): unknown {
    const protocol: unknown = Reflect.get(Object(value), Symbol.for("webfw.app"));
    return protocol === undefined ? undefined : Reflect.get(Object(protocol), "version");
  }
}
