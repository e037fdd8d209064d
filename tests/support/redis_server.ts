// A Redis in its own process, for tests. It listens at a Unix socket, so that no port can be taken.

import { join } from "node:path";

const PROGRAM = "redis-server";

/** A running Redis without data. Disposing of it kills it. */
export class RedisServer implements AsyncDisposable {
  /** The Unix socket at which it listens. */
  readonly path: string;
  readonly #folder: string;
  readonly #process: Deno.ChildProcess;

  private constructor(folder: string) {
    this.#folder = folder;
    this.path = join(folder, "redis.sock");
    this.#process = new Deno.Command(PROGRAM, {
      args: ["--port", "0", "--unixsocket", this.path, "--save", "", "--appendonly", "no", "--dir", folder],
      stdin: "null",
      stdout: "piped",
      stderr: "null",
    }).spawn();
  }

  /** Starts a server, and waits until it accepts connections. */
  static async start(): Promise<RedisServer> {
    const server = new RedisServer(await Deno.makeTempDir({ prefix: "webfw_redis_" }));
    const reader = server.#process.stdout.pipeThrough(new TextDecoderStream()).getReader();
    let output = "";
    while (!/ready to accept connections/i.test(output)) {
      const { done, value } = await reader.read();
      if (done) throw new Error(`Cannot start ${PROGRAM}: ${output}`);
      output += value;
    }
    await reader.cancel();
    return server;
  }

  /** Stops its process where it is: it keeps its connections, and answers nothing. */
  hang(): void {
    this.#process.kill("SIGSTOP");
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#process.kill("SIGKILL");
    await this.#process.status;
    await Deno.remove(this.#folder, { recursive: true });
  }
}

/** Whether the program is installed. Under `WEBFW_REQUIRE_ALL=1` it has to be. */
export const hasRedis: boolean = await isInstalled() || Deno.env.get("WEBFW_REQUIRE_ALL") === "1";

async function isInstalled(): Promise<boolean> {
  try {
    return (await new Deno.Command(PROGRAM, { args: ["--version"] }).output()).success;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return false;
    throw error;
  }
}
