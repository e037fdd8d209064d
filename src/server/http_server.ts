/**
 * Wraps Deno's server, which stops at the first connection that it cannot accept: this one listens
 * again after the process ran out of file descriptors. Open connections continue.
 */
import { log } from "../log/log.ts";

export type ListenOptions = Deno.ServeTcpOptions & Partial<Deno.TlsCertifiedKeyPem> & { readonly path?: string };

const PAUSE_MS = 500;

const LOG_INTERVAL_MS = 1_000;

/** How many of Deno's servers are kept for their open connections. */
const MAX_SERVERS = 32;

/** Reserved for the program: without one, Deno 2.9 cannot load a module, and the process exits. */
const SPARE = 8;
const NULL_DEVICE = "/dev/null";

/** "Too many open files" of the process or the system, on Linux, macOS and Windows. */
const OUT_OF_DESCRIPTORS = /\(os error (?:23|24|10024)\)/;

const AT_LIMIT = "The limit of open files is reached";

interface Listener {
  readonly server: Deno.HttpServer;
  readonly since: number;
  /** How long it accepted connections, in milliseconds; infinite while it does. */
  lasted: number;
}

export class HttpServer {
  readonly #options: ListenOptions;
  readonly #handler: Deno.ServeHandler;
  readonly #finished = Promise.withResolvers<void>();
  /** Resolves when the server ends itself, rejects when it cannot continue. */
  readonly finished: Promise<void> = this.#finished.promise;
  /** The last one accepts connections; the others only serve open ones. */
  #listeners: Listener[] = [];
  #isShutDown = false;
  #pause: ReturnType<typeof setTimeout> | undefined;
  #lastLog = -Infinity;
  readonly #spare = new SpareDescriptors();

  constructor(options: ListenOptions, handler: Deno.ServeHandler) {
    this.#options = options;
    this.#handler = handler;
    this.#listen(options);
    this.#spare.keep();
  }

  async shutdown(): Promise<void> {
    this.#isShutDown = true;
    clearTimeout(this.#pause);
    this.#spare.release();
    await Promise.all(this.#listeners.map(({ server }) => server.shutdown()));
  }

  #listen(options: ListenOptions): void {
    const server = Deno.serve(options, this.#handler);
    const listener: Listener = { server, since: performance.now(), lasted: Infinity };
    this.#listeners.push(listener);
    server.finished.then(() => this.#finished.resolve(), (error) => {
      listener.lasted = performance.now() - listener.since;
      this.#recover(error, server.addr);
    });
  }

  #recover(error: unknown, address: Deno.Addr): void {
    if (this.#isShutDown) return;
    this.#spare.release();
    const isTaken = error instanceof Deno.errors.AddrInUse;
    if (!isTaken && !OUT_OF_DESCRIPTORS.test(String(error))) return this.#finished.reject(error);
    this.#dropOne();
    this.#wait(isTaken ? "Another program has taken the address" : AT_LIMIT, address);
  }

  #wait(reason: string, address: Deno.Addr): void {
    const now = performance.now();
    if (now - this.#lastLog >= LOG_INTERVAL_MS) {
      this.#lastLog = now;
      log("warn", `${reason}: no connections are accepted until that ends`);
    }
    this.#pause = setTimeout(() => this.#listenAgain(address), PAUSE_MS);
  }

  #listenAgain(address: Deno.Addr): void {
    if (!this.#spare.keep()) return this.#wait(AT_LIMIT, address);
    const { path } = this.#options;
    try {
      if (path !== undefined) Deno.removeSync(path);
    } catch {
      // Deno may have removed the socket file.
    }
    try {
      // Keep a port that the system chose.
      const port = "port" in address ? { port: address.port } : {};
      this.#listen({ ...this.#options, ...port, onListen: () => {} });
    } catch (error) {
      this.#recover(error, address);
    }
  }

  /** Drops the server that accepted for the shortest time: it has the fewest connections. */
  #dropOne(): void {
    if (this.#listeners.length < MAX_SERVERS) return;
    const shortest = this.#listeners.reduce((one, other) => other.lasted < one.lasted ? other : one);
    this.#listeners = this.#listeners.filter((one) => one !== shortest);
    shortest.server.shutdown().catch(() => {});
  }
}

/** Reserved only if the program may open the null device. */
class SpareDescriptors {
  readonly #files: Deno.FsFile[] = [];

  /** Opens them. False, with none open, if too few would remain for clients. */
  keep(): boolean {
    if (!mayOpen()) return true;
    try {
      while (this.#files.length < 2 * SPARE) this.#files.push(Deno.openSync(NULL_DEVICE));
      this.#close(SPARE);
      return true;
    } catch {
      this.release();
      return false;
    }
  }

  release(): void {
    this.#close(this.#files.length);
  }

  #close(count: number): void {
    for (const file of this.#files.splice(0, count)) file.close();
  }
}

function mayOpen(): boolean {
  if (Deno.build.os === "windows") return false;
  return Deno.permissions.querySync({ name: "read", path: NULL_DEVICE }).state === "granted";
}
