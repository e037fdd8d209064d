/** A nats-server with JetStream: the real one, in its own process. */
import { join } from "node:path";
import { freePorts } from "../support/free_ports.ts";
import { PATIENCE_MS } from "../support/patience.ts";

/** Where `deno task nats:install` puts it. */
export const INSTALL_FOLDER: string = join(cacheFolder(), "webfw", "nats");

/** The pause between two checks whether the server is ready, in milliseconds. */
const LOOK_MS = 20;

/** The other servers of a cluster. */
interface Cluster {
  readonly name: string;
  /** The ports at which the servers talk to each other. */
  readonly ports: readonly number[];
}

/**
 * Finds the program: the environment's `NATS_SERVER`, the one on the path, or the one that was
 * installed.
 */
export async function findNats(): Promise<string | undefined> {
  const named = Deno.env.get("NATS_SERVER");
  if (named) return named;
  const folders = (Deno.env.get("PATH") ?? "").split(Deno.build.os === "windows" ? ";" : ":");
  for (const folder of [...folders, INSTALL_FOLDER]) {
    const path = join(folder, "nats-server");
    if (await isFile(path)) return path;
  }
  return undefined;
}

/** Whether tests that need nats-server run. Without it, they fail under `WEBFW_REQUIRE_ALL=1`. */
export const hasNats: boolean = await findNats() !== undefined || Deno.env.get("WEBFW_REQUIRE_ALL") === "1";

/** A server. Disposing of it kills the server and removes the data. */
export class NatsServer implements AsyncDisposable {
  /** The port of its clients. */
  readonly port: number;
  readonly #program: string;
  readonly #folder: string;
  readonly #name: string;
  #process: Deno.ChildProcess | undefined;

  private constructor(program: string, folder: string, name: string, port: number) {
    this.#program = program;
    this.#folder = folder;
    this.#name = name;
    this.port = port;
  }

  /**
   * Starts a server with no data.
   *
   * @param lines Further lines of its configuration.
   */
  static async start(lines = ""): Promise<NatsServer> {
    const [port] = freePorts(1);
    const server = await NatsServer.#make("n1", port!, lines);
    try {
      await server.startAgain();
      return server;
    } catch (error) {
      await server[Symbol.asyncDispose]();
      throw error;
    }
  }

  /** Starts three servers that keep all data together, and waits until they can. */
  static async startCluster(): Promise<NatsCluster> {
    const ports = freePorts(6);
    const cluster: Cluster = { name: "c", ports: ports.slice(3) };
    const servers = await Promise.all(cluster.ports.map((_, index) => {
      const lines = `cluster { name: ${cluster.name}, listen: "127.0.0.1:${cluster.ports[index]}", routes: [${
        cluster.ports.map((port) => `"nats://127.0.0.1:${port}"`).join(", ")
      }] }`;
      return NatsServer.#make(`n${index + 1}`, ports[index]!, lines);
    }));
    const started = new NatsCluster(servers);
    try {
      await Promise.all(servers.map((server) => server.startAgain()));
      return started;
    } catch (error) {
      await started[Symbol.asyncDispose]();
      throw error;
    }
  }

  static async #make(name: string, port: number, lines: string): Promise<NatsServer> {
    const program = await findNats();
    if (program === undefined) {
      throw new Error('Cannot find nats-server: run "deno task nats:install", or set NATS_SERVER');
    }
    const folder = await Deno.makeTempDir({ prefix: "webfw_nats_" });
    const configuration = `listen: "127.0.0.1:${port}"
server_name: ${name}
jetstream { store_dir: "${join(folder, "data")}", max_memory_store: 64MB, max_file_store: 8GB, sync_interval: always }
${lines}
`;
    await Deno.writeTextFile(join(folder, "nats.conf"), configuration);
    return new NatsServer(program, folder, name, port);
  }

  /** The address of the server. */
  get url(): string {
    return `nats://127.0.0.1:${this.port}`;
  }

  /** Starts the server, and waits until it takes connections. */
  async startAgain(): Promise<void> {
    const begin = performance.now();
    let hasEnded = true;
    for (;; await new Promise((resolve) => setTimeout(resolve, LOOK_MS))) {
      if (hasEnded) {
        hasEnded = false;
        this.#process = new Deno.Command(this.#program, {
          args: ["-c", join(this.#folder, "nats.conf")],
          stdin: "null",
          stdout: "null",
          stderr: "null",
        }).spawn();
        this.#process.status.then(() => hasEnded = true);
      }
      if (await this.#isReady()) return;
      if (performance.now() - begin > PATIENCE_MS) throw new Error(`Cannot start nats-server ${this.#name}`);
    }
  }

  /** Gives the server that was killed other lines in its configuration. */
  async configure(lines: string): Promise<void> {
    const path = join(this.#folder, "nats.conf");
    const [listen, name, jetstream] = (await Deno.readTextFile(path)).split("\n");
    await Deno.writeTextFile(path, [listen, name, jetstream, lines, ""].join("\n"));
  }

  /** Kills the server as the loss of its machine would. */
  async kill(): Promise<void> {
    const process = this.#process;
    this.#process = undefined;
    process?.kill("SIGKILL");
    await process?.status;
  }

  /** Deletes the data of the server that was killed. */
  async loseData(): Promise<void> {
    await Deno.remove(join(this.#folder, "data"), { recursive: true });
  }

  /** Copies the data of the server that was killed. Returns a function that restores them. */
  async backUp(): Promise<() => Promise<void>> {
    const [data, copy] = [join(this.#folder, "data"), join(this.#folder, "copy")];
    await copyFolder(data, copy);
    return async () => {
      await this.loseData();
      await copyFolder(copy, data);
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

  async #isReady(): Promise<boolean> {
    try {
      using connection = await Deno.connect({ hostname: "127.0.0.1", port: this.port });
      const bytes = new Uint8Array(8192);
      const count = await connection.read(bytes);
      return new TextDecoder().decode(bytes.subarray(0, count ?? 0)).includes(`"server_name":"${this.#name}"`);
    } catch {
      return false;
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.kill();
    await Deno.remove(this.#folder, { recursive: true });
  }
}

/** Three servers that keep all data together. */
export class NatsCluster implements AsyncDisposable {
  /** The servers. */
  readonly servers: readonly NatsServer[];

  /** Takes over servers. */
  constructor(servers: readonly NatsServer[]) {
    this.servers = servers;
  }

  /** Their addresses, separated by commas. */
  get url(): string {
    return this.servers.map(({ url }) => url).join(",");
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.servers.map((server) => server[Symbol.asyncDispose]()));
  }
}

async function copyFolder(from: string, to: string): Promise<void> {
  await Deno.mkdir(to, { recursive: true });
  for await (const { name, isDirectory } of Deno.readDir(from)) {
    if (isDirectory) await copyFolder(join(from, name), join(to, name));
    else await Deno.copyFile(join(from, name), join(to, name));
  }
}

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
