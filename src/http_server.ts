/**
 * Deno's server, which listens again after the process has run out of file descriptors. Deno's
 * accept loop ends with the first connection that it cannot accept. The connections that it has
 * go on, so the process must not end with it.
 */
import { log } from "./log.ts";

/** Where and how to listen. */
export type ListenOptions = Deno.ServeTcpOptions & Partial<Deno.TlsCertifiedKeyPem> & { readonly path?: string };

/** How long the server waits before it listens again, in milliseconds. */
const PAUSE_MS = 500;

/** The shortest time between two warnings, in milliseconds. */
const LOG_INTERVAL_MS = 1_000;

/** How many of Deno's servers are kept for the sake of their connections. */
const MAX_SERVERS = 32;

/**
 * Descriptors that are left to the program when clients have taken all others. Without any, Deno
 * 2.9 does not fail where it loads a module that was not needed before: the process ends.
 */
const SPARE = 8;
/** What is opened to keep a descriptor. */
const NOTHING = "/dev/null";

/**
 * "Too many open files", of the process and of the system, as Linux, macOS and Windows number it.
 */
const OUT_OF_DESCRIPTORS = /\(os error (?:23|24|10024)\)/;

const AT_LIMIT = "The limit of open files is reached";

/** One of Deno's servers, with the time for which it accepted connections. */
interface Accepting {
  readonly server: Deno.HttpServer;
  readonly since: number;
  /** In milliseconds; infinite while it accepts. */
  lasted: number;
}

/** A server that runs until it is shut down. */
export class HttpServer {
  readonly #options: ListenOptions;
  readonly #handler: Deno.ServeHandler;
  readonly #finished: PromiseWithResolvers<void> = Promise.withResolvers();
  /** The last one accepts; the others only have connections left. */
  #servers: Accepting[] = [];
  #isShutDown = false;
  #pause: ReturnType<typeof setTimeout> | undefined;
  #lastLog = -Infinity;
  readonly #spare = new SpareDescriptors();

  /**
   * Listens.
   *
   * @throws {Deno.errors.AddrInUse} When the address is taken.
   */
  constructor(options: ListenOptions, handler: Deno.ServeHandler) {
    this.#options = options;
    this.#handler = handler;
    this.#listen(options);
    this.#spare.keep();
  }

  /** Resolves when the server ends by itself, and rejects when it cannot go on. */
  get finished(): Promise<void> {
    return this.#finished.promise;
  }

  /** Accepts no more connections, and waits for the replies to requests in flight. */
  async shutdown(): Promise<void> {
    this.#isShutDown = true;
    clearTimeout(this.#pause);
    this.#spare.release();
    await Promise.all(this.#servers.map(({ server }) => server.shutdown()));
  }

  #listen(options: ListenOptions): void {
    const server = Deno.serve(options, this.#handler);
    const accepting: Accepting = { server, since: performance.now(), lasted: Infinity };
    this.#servers.push(accepting);
    server.finished.then(() => this.#finished.resolve(), (error) => {
      accepting.lasted = performance.now() - accepting.since;
      this.#recover(error, server.addr);
    });
  }

  #recover(error: unknown, address: Deno.Addr): void {
    if (this.#isShutDown) return;
    this.#spare.release();
    const isTaken = error instanceof Deno.errors.AddrInUse;
    if (!isTaken && !OUT_OF_DESCRIPTORS.test(String(error))) return this.#finished.reject(error);
    this.#forgetOne();
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
      // Deno may have removed it.
    }
    try {
      // A port that was chosen by the system stays the same.
      const port = "port" in address ? { port: address.port } : {};
      this.#listen({ ...this.#options, ...port, onListen: () => {} });
    } catch (error) {
      this.#recover(error, address);
    }
  }

  /** Lets go of the server that accepted for the shortest time: it has the fewest connections. */
  #forgetOne(): void {
    if (this.#servers.length < MAX_SERVERS) return;
    const shortest = this.#servers.reduce((one, other) => other.lasted < one.lasted ? other : one);
    this.#servers = this.#servers.filter((one) => one !== shortest);
    shortest.server.shutdown().catch(() => {});
  }
}

/** Descriptors that are kept until they are needed, where the program may open what keeps them. */
class SpareDescriptors {
  readonly #files: Deno.FsFile[] = [];

  /** Keeps them. False where there would not be as many again for clients: none is kept then. */
  keep(): boolean {
    if (!mayOpen()) return true;
    try {
      while (this.#files.length < 2 * SPARE) this.#files.push(Deno.openSync(NOTHING));
      this.#close(SPARE);
      return true;
    } catch {
      this.release();
      return false;
    }
  }

  /** Leaves them to the program. */
  release(): void {
    this.#close(this.#files.length);
  }

  #close(count: number): void {
    for (const file of this.#files.splice(0, count)) file.close();
  }
}

function mayOpen(): boolean {
  if (Deno.build.os === "windows") return false;
  return Deno.permissions.querySync({ name: "read", path: NOTHING }).state === "granted";
}
