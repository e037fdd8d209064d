/**
 * A denokv, the server through which nodes share a database. It is the real one, in its own
 * process.
 */
import { join } from "node:path";
import { freePorts } from "../support/free_ports.ts";
import { PATIENCE_MS } from "../support/patience.ts";

/** Where `deno task denokv:install` puts it. */
export const INSTALL_FOLDER: string = join(cacheFolder(), "webfw", "denokv");

/** The pause between two checks whether the server listens, in milliseconds. */
const LOOK_MS = 10;
/** After which silence a server is started again, in milliseconds. */
const SILENCE_MS = 15_000;

/**
 * Finds the program: the environment's `DENOKV`, the one on the path, or the one that was
 * installed.
 */
export async function findDenokv(): Promise<string | undefined> {
  const named = Deno.env.get("DENOKV");
  if (named) return named;
  const folders = (Deno.env.get("PATH") ?? "").split(Deno.build.os === "windows" ? ";" : ":");
  for (const folder of [...folders, join(INSTALL_FOLDER, "bin")]) {
    const path = join(folder, "denokv");
    if (await isFile(path)) return path;
  }
  return undefined;
}

/**
 * A database, and the server in front of it. Disposing of it kills the server and removes the data.
 */
export class Denokv implements AsyncDisposable {
  /** The server's token. A random one keeps out clients of an earlier server on the same port. */
  readonly token: string = crypto.randomUUID();
  readonly #program: string;
  readonly #folder: string;
  readonly #hostname: string;
  #port = 0;
  #process: Deno.ChildProcess | undefined;

  private constructor(program: string, folder: string, hostname: string) {
    this.#program = program;
    this.#folder = folder;
    this.#hostname = hostname;
  }

  /**
   * Starts a server with an empty database. The hostname is the one that it listens
   * at.
   */
  static async start(hostname = "127.0.0.1"): Promise<Denokv> {
    const program = await findDenokv();
    if (program === undefined) throw new Error('Cannot find denokv: run "deno task denokv:install", or set DENOKV');
    const folder = await Deno.makeTempDir({ prefix: "webfw_denokv_" });
    const server = new Denokv(program, folder, hostname);
    try {
      await server.#start(() => freePorts(1)[0]!);
      return server;
    } catch (error) {
      await server[Symbol.asyncDispose]();
      throw error;
    }
  }

  /** The address of the server. */
  get url(): string {
    return `http://127.0.0.1:${this.#port}`;
  }

  /** The port of the server. */
  get port(): number {
    return this.#port;
  }

  /** Kills the server as the loss of its machine would. */
  async kill(): Promise<void> {
    const process = this.#process;
    this.#process = undefined;
    process?.kill("SIGKILL");
    await process?.status;
  }

  /**
   * Restarts the server that was killed, with the same data. It waits for its port if another
   * server has it meanwhile.
   */
  async startAgain(): Promise<void> {
    await this.#start(() => this.#port);
  }

  /** Starts the server, and again if it ends or stays silent: its port may have been taken. */
  async #start(choosePort: () => number): Promise<void> {
    const begin = performance.now();
    let status: Deno.CommandStatus | undefined;
    let lastStart = begin;
    for (let hasEnded = true;; await new Promise((resolve) => setTimeout(resolve, LOOK_MS))) {
      if (hasEnded) {
        hasEnded = false;
        this.#port = choosePort();
        lastStart = performance.now();
        this.#spawn().status.then((ended) => {
          hasEnded = true;
          status = ended;
        });
      }
      if (await this.#lets()) return;
      if (performance.now() - lastStart > SILENCE_MS && !hasEnded) {
        lastStart = performance.now();
        this.#process?.kill("SIGKILL");
      }
      if (performance.now() - begin > PATIENCE_MS) {
        const ending = status ? `, it ended with code ${status.code}` : "";
        throw new Error(`Cannot start denokv: it does not listen${ending}`);
      }
    }
  }

  #spawn(): Deno.ChildProcess {
    const file = join(this.#folder, "data.sqlite");
    const address = `${this.#hostname}:${this.#port}`;
    return this.#process = new Deno.Command(this.#program, {
      args: ["--sqlite-path", file, "serve", "--access-token", this.token, "--addr", address],
      stdin: "null",
      stdout: "null",
      stderr: "null",
    }).spawn();
  }

  /** Whether the server of this token answers at the port. */
  async #lets(): Promise<boolean> {
    try {
      const signal = AbortSignal.timeout(SILENCE_MS);
      const headers = { authorization: `Bearer ${this.token}`, "content-type": "application/json" };
      const response = await fetch(this.url, { method: "POST", headers, body: '{"supportedVersions":[3]}', signal });
      await response.body?.cancel();
      return response.ok;
    } catch {
      return false;
    }
  }

  /** Deletes the data of the server that was killed. */
  async loseData(): Promise<void> {
    await Deno.remove(this.#folder, { recursive: true });
    await Deno.mkdir(this.#folder);
  }

  /** Copies the data of the server that was killed. Returns a function that restores them. */
  async backUp(): Promise<() => Promise<void>> {
    const files = await Array.fromAsync(Deno.readDir(this.#folder), async ({ name }) => {
      return { path: join(this.#folder, name), bytes: await Deno.readFile(join(this.#folder, name)) };
    });
    return async () => {
      await this.loseData();
      for (const { path, bytes } of files) await Deno.writeFile(path, bytes);
    };
  }

  /** Suspends the server, until it is thawed. */
  freeze(): void {
    this.#process?.kill("SIGSTOP");
  }

  /** Resumes a suspended server. */
  thaw(): void {
    this.#process?.kill("SIGCONT");
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.kill();
    await Deno.remove(this.#folder, { recursive: true });
  }
}

/**
 * Registers a test that needs denokv. Without denokv, the test is ignored, or fails under
 * `WEBFW_REQUIRE_ALL=1`.
 */
export const hasDenokv: boolean = await findDenokv() !== undefined || Deno.env.get("WEBFW_REQUIRE_ALL") === "1";

async function isFile(path: string): Promise<boolean> {
  try {
    return (await Deno.stat(path)).isFile;
  } catch {
    return false;
  }
}

function cacheFolder(): string {
  return Deno.env.get("XDG_CACHE_HOME") ?? join(Deno.env.get("HOME") ?? Deno.env.get("USERPROFILE") ?? ".", ".cache");
}
