// A Redis that is as safe as the stores beside it: what it has answered is on the disk.

import { freePorts } from "../../../tests/support/free_ports.ts";

/** How long a start may take, in milliseconds. Long, since it only bounds a fault. */
const PATIENCE_MS = 10_000;
/** The pause between two checks whether the server listens, in milliseconds. */
const LOOK_MS = 20;

/** A server, whose data are in a temporary folder. Disposing of it kills it and removes the data. */
export class Redis implements AsyncDisposable {
  /** The port of its clients. */
  readonly port: number;
  readonly #process: Deno.ChildProcess;
  readonly #folder: string;

  private constructor(process: Deno.ChildProcess, folder: string, port: number) {
    this.#process = process;
    this.#folder = folder;
    this.port = port;
  }

  /** Starts a server, and waits until it answers. */
  static async start(): Promise<Redis> {
    const [port = 0] = freePorts(1);
    const folder = await Deno.makeTempDir({ prefix: "webfw_redis_" });
    const safe = ["--appendonly", "yes", "--appendfsync", "always", "--save", ""];
    const process = new Deno.Command("redis-server", {
      args: ["--port", `${port}`, "--bind", "127.0.0.1", "--dir", folder, ...safe],
      stdin: "null",
      stdout: "null",
      stderr: "null",
    }).spawn();
    const server = new Redis(process, folder, port);
    const begin = performance.now();
    while (!await server.#answers()) {
      if (performance.now() - begin > PATIENCE_MS) {
        await server[Symbol.asyncDispose]();
        throw new Error("Cannot start redis-server: it does not answer");
      }
      await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
    }
    return server;
  }

  async #answers(): Promise<boolean> {
    try {
      using connection = await Deno.connect({ hostname: "127.0.0.1", port: this.port });
      await connection.write(new TextEncoder().encode("PING\r\n"));
      const bytes = new Uint8Array(16);
      const count = await connection.read(bytes);
      return new TextDecoder().decode(bytes.subarray(0, count ?? 0)).startsWith("+PONG");
    } catch {
      return false;
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#process.kill("SIGKILL");
    await this.#process.status;
    await Deno.remove(this.#folder, { recursive: true });
  }
}
