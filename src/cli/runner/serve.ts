/** Serves with one thread or several. Sent as source: see runner.ts. */

import { type Address, type FetchApp, type RunnableApp, Runner, type RunnerOptions, type WebfwApp } from "./runner.ts";

interface ServeOptions extends RunnerOptions {
  /** Null: not in the command line. */
  readonly hostname: string | null;
  /** 0: any free port. Null: not in the command line. */
  readonly port: number | null;
  readonly workers: number;
  readonly isQuiet: boolean;
  readonly compress: boolean;
  readonly showsBoard: boolean;
  /** In milliseconds. */
  readonly drainDelay: number;
}

interface WorkerStart {
  readonly address: Address;
  /** Connects to the topics in memory of the main thread. */
  readonly host: MessagePort;
}

/** A number is an exit code of the program. */
type WorkerMessage = "listening" | "ended" | number;

interface WorkerScope {
  onmessage: (event: MessageEvent<WorkerStart>) => void;
  postMessage(message: WorkerMessage): void;
}

interface ListenOptions extends Address {
  readonly onListen: (address: Address) => void;
  readonly workers?: { readonly guests: readonly MessagePort[] } | { readonly host: MessagePort };
}

/** Each thread runs this program, receives the signals, and stops by itself. */
export class ServeRunner extends Runner<ServeOptions> {
  /** Null if it is not shown. */
  #board: string | null = null;

  run(): Promise<void> {
    return "WorkerGlobalScope" in globalThis ? this.#runInWorker() : this.#runInMainThread();
  }

  async #runInMainThread(): Promise<void> {
    const { module, workers } = this.options;
    this.stopWithParent();
    const { hostname, port } = this.#chooseAddress();
    const app = await this.loadApp();
    if (this.options.showsBoard && this.isWebfwApp(app)) this.#board = this.#showBoard(app);
    const channels = Array.from({ length: workers - 1 }, () => new MessageChannel());
    const workerEnds: Promise<void>[] = [];
    let isListening = false;
    const onListen = async (address: Address) => {
      isListening = true;
      const started = channels.map(({ port2 }, index) => {
        const { listening, ended } = this.#startWorker({ address, host: port2 }, index + 2);
        workerEnds.push(ended);
        return listening;
      });
      await Promise.all([this.watcherIsReady(), ...started]);
      this.#announce(app, address);
    };
    try {
      const guests = channels.map(({ port1 }) => port1);
      await this.#serve(app, { hostname, port, onListen, ...(guests.length > 0 && { workers: { guests } }) });
    } catch (error) {
      // The message of this error is complete, and its stack has no code of the user.
      if (error instanceof Error && /^Cannot(?:Open|Start)Error$/.test(error.name)) await this.fail(error.message);
      if (error instanceof Error && error.message.startsWith("Cannot listen on ")) this.failForGood(error.message);
      const problem = isListening ? null : this.#portProblem(hostname, port);
      if (problem !== null) this.failForGood(`Cannot listen on ${hostname}:${port}: ${problem}`);
      await this.failWith(`"${module}" failed`, error);
    }
    if (!await this.#haveEnded(workerEnds)) {
      console.error("error: Killed a worker: it did not stop in time");
      Deno.exit(1);
    }
    // In a watcher, timers of the application would delay an exit from this function.
    return await new Promise(() => setTimeout(() => Deno.exit(0)));
  }

  #startWorker(
    start: WorkerStart,
    number: number,
  ): { readonly listening: Promise<void>; readonly ended: Promise<void> } {
    const [listening, ended] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    // Metrics have the name. `import.meta.url` is the data: URL of this program.
    // An uncaught error in a worker ends the process, with its stack on stderr.
    const worker = new Worker(import.meta.url, { type: "module", name: `webfw-${number}` });
    worker.onmessage = ({ data }: MessageEvent<WorkerMessage>) => {
      if (typeof data === "number") Deno.exit(data);
      (data === "listening" ? listening : ended).resolve();
    };
    worker.postMessage(start, [start.host]);
    return { listening: listening.promise, ended: ended.promise };
  }

  async #runInWorker(): Promise<void> {
    const scope = globalThis as unknown as WorkerScope;
    const { address, host } = await new Promise<WorkerStart>((resolve) => {
      scope.onmessage = ({ data }) => resolve(data);
    });
    const { exit } = Deno;
    const replaceExit = (value: typeof exit) => Object.defineProperty(Deno, "exit", { value, configurable: true });
    replaceExit((code) => {
      // In a worker, it would end only this thread.
      scope.postMessage(code ?? Deno.exitCode);
      return exit(code);
    });
    const app = await this.loadApp();
    // After a stop, each thread ends by itself.
    replaceExit(exit);
    await this.#serve(app, { ...address, onListen: () => scope.postMessage("listening"), workers: { host } });
    scope.postMessage("ended");
  }

  /** They have had the same grace period as this thread. */
  #haveEnded(workerEnds: readonly Promise<void>[]): Promise<boolean> {
    const timeoutMs = 2_000;
    const late = new Promise<boolean>((resolve) => Deno.unrefTimer(setTimeout(() => resolve(false), timeoutMs)));
    return Promise.race([Promise.all(workerEnds).then(() => true), late]);
  }

  async #serve(app: RunnableApp, { workers, ...listen }: ListenOptions): Promise<void> {
    const options = { ...listen, ...(workers && { reusePort: true }) };
    const { isQuiet, compress, drainDelay } = this.options;
    // An older version of the framework refuses unknown options.
    const more = { ...(workers && { workers }), ...(compress && { compress }), ...(drainDelay > 0 && { drainDelay }) };
    if (this.isWebfwApp(app)) await app.run({ ...options, accessLog: !isQuiet, ...more });
    else await this.#serveFetch(app, { ...options, automaticCompression: compress });
  }

  /** With log, signals and grace period, like `App.run`. */
  async #serveFetch(app: FetchApp, options: Deno.ServeTcpOptions): Promise<void> {
    const gracePeriodMs = 10_000;
    const server = Deno.serve(options, async (request, info) => {
      const start = performance.now();
      let status = 500;
      try {
        const response = await app.fetch(request, info);
        status = response.status;
        return response;
      } finally {
        const { pathname, search } = new URL(request.url);
        const ms = (performance.now() - start).toFixed(1);
        if (!this.options.isQuiet) {
          this.printLine(`${new Date().toISOString()} INFO ${request.method} ${pathname}${search} ${status} ms=${ms}`);
        }
      }
    });
    let deadline: ReturnType<typeof setTimeout> | undefined;
    const abort = () => {
      console.error("error: Aborted requests that did not end in time");
      Deno.exit(1);
    };
    const stop = () => {
      deadline ??= setTimeout(abort, gracePeriodMs);
      server.shutdown();
    };
    const signals: Deno.Signal[] = Deno.build.os === "windows" ? ["SIGINT"] : ["SIGINT", "SIGTERM"];
    for (const signal of signals) Deno.addSignalListener(signal, stop);
    await server.finished;
    for (const signal of signals) Deno.removeSignalListener(signal, stop);
    clearTimeout(deadline);
  }

  /** Same as in `App.run`. */
  #chooseAddress(): Address {
    const { hostname, port } = this.options;
    return {
      hostname: hostname ?? this.#variable("WEBFW_HOST") ?? "127.0.0.1",
      port: port ?? this.#parsePort(this.#variable("PORT") ?? "8000"),
    };
  }

  /** Undefined if it is empty, or reading it needs a prompt. */
  #variable(name: string): string | undefined {
    if (Deno.permissions.querySync({ name: "env", variable: name }).state !== "granted") return undefined;
    return Deno.env.get(name) || undefined;
  }

  #parsePort(text: string): number {
    const port = Number(text);
    if (/^\d+$/.test(text) && port <= 65_535) return port;
    return this.failForGood(
      `Cannot listen on the port of the variable PORT: ${JSON.stringify(text)} is not a port, ` +
        "set a whole number from 0 to 65535",
    );
  }

  #announce(app: RunnableApp, { hostname, port }: Address): void {
    const origin = `http://${hostname.includes(":") ? `[${hostname}]` : hostname}:${port}`;
    this.#print(`Listening on ${origin}`);
    const isDefaultHost = this.options.hostname === null && this.#variable("WEBFW_HOST") === undefined;
    // A platform that sets PORT connects from outside, and would only report a refused connection.
    if (isDefaultHost && this.options.port === null && this.#variable("PORT") !== undefined) {
      this.#print("Only this machine can connect: set WEBFW_HOST=0.0.0.0 to be reached from others");
    }
    if (this.isWebfwApp(app) && typeof app.docsUrl === "string") {
      this.#print(`Documentation on ${origin}${app.docsUrl}`);
    }
    if (this.#board !== null) this.#print(`Board on ${this.#localOrigin(hostname, port)}${this.#board}/`);
  }

  /** A route of the application may have its path. */
  #showBoard(app: WebfwApp): string | null {
    try {
      return this.protocolOf(app).showBoard?.() ?? null;
    } catch (error) {
      this.#print(`The board is not shown: ${error instanceof Error ? error.message : error}`);
      return null;
    }
  }

  /** The board refuses hosts that are no loopback ones. */
  #localOrigin(hostname: string, port: number): string {
    const isLoopback = /^(?:127\.|localhost$|::1$)/.test(hostname);
    const host = isLoopback ? hostname : "127.0.0.1";
    return `http://${host.includes(":") ? `[${host}]` : host}:${port}`;
  }

  /** In the format of the log. */
  #print(message: string): void {
    const isJson = this.#variable("WEBFW_LOG") === "json";
    const time = new Date();
    const line = isJson ? JSON.stringify({ time, level: "info", message }) : `${time.toISOString()} INFO ${message}`;
    this.printLine(line);
  }

  /** `null` if the address is free: something else failed. */
  #portProblem(hostname: string, port: number): string | null {
    try {
      Deno.listen({ hostname, port }).close();
      return null;
    } catch (error) {
      if (error instanceof Deno.errors.AddrInUse) {
        return "the port is taken, stop the program that has it, or choose another one by the option port or the variable PORT";
      }
      return error instanceof Error ? error.message : String(error);
    }
  }
}
