/** A PostgreSQL server: the real one, in its own processes, which end with the test. */
import { join } from "node:path";
import type { Certificate } from "../support/certificate.ts";
import { freePorts } from "../support/free_ports.ts";
import { PATIENCE_MS } from "../support/patience.ts";

/** Where Debian's packages put the programs of each version. */
const DEBIAN_FOLDER = "/usr/lib/postgresql";

/** The pause between two checks whether the server is ready, in milliseconds. */
const LOOK_MS = 20;

export interface PostgresOptions {
  /** Such as `max_connections=20`. */
  readonly settings?: readonly string[];
  /** The lines of `pg_hba.conf`; by default each role may connect from this machine. */
  readonly access?: readonly string[];
  /** Connections may be encrypted then. */
  readonly certificate?: Certificate;
}

/**
 * Finds the folder of the programs: the environment's `POSTGRES_BIN`, Debian's newest version, or
 * the one on the path.
 */
export async function findPostgres(): Promise<string | undefined> {
  const named = Deno.env.get("POSTGRES_BIN");
  if (named) return named;
  const versions: number[] = [];
  try {
    for await (const { name } of Deno.readDir(DEBIAN_FOLDER)) versions.push(Number(name));
  } catch {
    // There is none of Debian.
  }
  versions.sort((one, other) => other - one);
  const folders = [...versions.map((version) => join(DEBIAN_FOLDER, `${version}`, "bin"))];
  for (const folder of [...folders, ...(Deno.env.get("PATH") ?? "").split(":")]) {
    if (await isFile(join(folder, "postgres")) && await isFile(join(folder, "initdb"))) return folder;
  }
  return undefined;
}

/** Whether tests that need PostgreSQL run. Without it, they fail under `WEBFW_REQUIRE_ALL=1`. */
export const hasPostgres: boolean = await findPostgres() !== undefined || Deno.env.get("WEBFW_REQUIRE_ALL") === "1";

/** What a title says of a test that is ignored without a server. */
export const POSTGRES_MISSING = "there is no PostgreSQL, install it or set POSTGRES_BIN";

/** The server refuses to run as root. */
export interface ServerUser {
  readonly uid?: number;
  readonly gid?: number;
}

/** A server. Disposing of it kills the server and removes the data. */
export class PostgresServer implements AsyncDisposable {
  readonly port: number;
  readonly #programs: string;
  readonly #folder: string;
  readonly #user: ServerUser;
  readonly #settings: string[];
  #process: Deno.ChildProcess | undefined;

  private constructor(programs: string, folder: string, user: ServerUser, port: number) {
    this.#programs = programs;
    this.#folder = folder;
    this.#user = user;
    this.port = port;
    this.#settings = [
      "listen_addresses=127.0.0.1",
      "unix_socket_directories=",
      "max_connections=200",
      // What a process has written survives its kill; only a crash of the machine needs the disk.
      "fsync=off",
    ];
  }

  /** Starts a server with no data. */
  static async start(options: PostgresOptions = {}): Promise<PostgresServer> {
    const programs = await findPostgres();
    if (programs === undefined) throw new Error(`Cannot start PostgreSQL: ${POSTGRES_MISSING}`);
    const folder = await Deno.makeTempDir({ prefix: "webfw_postgres_" });
    const server = new PostgresServer(programs, folder, await serverUser(), freePorts(1)[0]!);
    try {
      await server.#initialize(options);
      await server.startAgain();
      return server;
    } catch (error) {
      await server[Symbol.asyncDispose]();
      throw error;
    }
  }

  /** Starts a server that follows this one, which commits what both have from then on. */
  async startStandby(): Promise<PostgresServer> {
    const folder = await Deno.makeTempDir({ prefix: "webfw_postgres_" });
    const standby = new PostgresServer(this.#programs, folder, this.#user, freePorts(1)[0]!);
    try {
      await standby.#makeFolder();
      const args = ["-d", this.url, "-D", standby.#data, "-R", "-X", "stream", "-c", "fast", "--no-sync"];
      await run(join(this.#programs, "pg_basebackup"), args, { ...this.#user, cwd: "/" });
      await standby.startAgain();
      // Not in one transaction, as `query` would run them.
      await this.query("ALTER SYSTEM SET synchronous_standby_names = '*'");
      await this.query("SELECT pg_reload_conf()");
      const isFollowed = "SELECT 1 FROM pg_stat_replication WHERE sync_state = 'sync'";
      while ((await this.query(isFollowed)).length === 0) await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
      return standby;
    } catch (error) {
      await standby[Symbol.asyncDispose]();
      throw error;
    }
  }

  /** The address of a database for a role that needs no password. */
  urlFor(role: string, database = "postgres"): string {
    return `postgres://${role}@127.0.0.1:${this.port}/${database}`;
  }

  /** The address for the role that may do everything. */
  get url(): string {
    return this.urlFor("postgres");
  }

  /** Starts the server again, and waits until it takes connections. */
  async startAgain(): Promise<void> {
    const begin = performance.now();
    const settings = this.#settings.flatMap((setting) => ["-c", setting]);
    let hasEnded = true;
    for (;; await new Promise((resolve) => setTimeout(resolve, LOOK_MS))) {
      if (hasEnded) {
        hasEnded = false;
        this.#process = new Deno.Command(join(this.#programs, "postgres"), {
          args: ["-D", this.#data, "-p", `${this.port}`, ...settings],
          ...this.#user,
          cwd: "/",
          stdin: "null",
          stdout: "null",
          stderr: "null",
        }).spawn();
        this.#process.status.then(() => hasEnded = true);
      }
      const args = ["-h", "127.0.0.1", "-p", `${this.port}`, "-q"];
      if ((await new Deno.Command(join(this.#programs, "pg_isready"), { args }).output()).success) return;
      if (performance.now() - begin > PATIENCE_MS) throw new Error("Cannot start PostgreSQL");
    }
  }

  /** Runs statements, and returns the rows of the last one: a line each, columns separated by `|`. */
  async query(text: string, database = "postgres"): Promise<string[]> {
    const args = ["-X", "-A", "-t", "-q", "-v", "ON_ERROR_STOP=1", "-d", this.urlFor("postgres", database), "-c", text];
    return (await run(join(this.#programs, "psql"), args)).split("\n").filter((line) => line !== "");
  }

  /** Ends the server's processes at once, as a crash would. */
  async kill(): Promise<void> {
    const process = this.#process;
    if (!process) return;
    this.#process = undefined;
    const backends = childrenOf(process.pid);
    for (const pid of [process.pid, ...backends]) signal(pid, "SIGKILL");
    await process.status;
    // A new server refuses to start beside one of these.
    while (backends.some(isAlive)) await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
  }

  /** Stops the server in order: connections end, and all data are in its files. */
  async stop(): Promise<void> {
    const process = this.#process;
    this.#process = undefined;
    process?.kill("SIGINT");
    await process?.status;
  }

  /** Suspends the server's processes until it is thawed: connections stay, without an answer. */
  freeze(): void {
    this.#signalAll("SIGSTOP");
  }

  /** Resumes a suspended server. */
  thaw(): void {
    this.#signalAll("SIGCONT");
  }

  /** Copies the data of the server that was stopped. Returns a function that restores them. */
  async backUp(): Promise<() => Promise<void>> {
    const copy = join(this.#folder, `copy_${crypto.randomUUID()}`);
    await run("cp", ["-a", this.#data, copy]);
    return async () => {
      await Deno.remove(this.#data, { recursive: true });
      await run("cp", ["-a", copy, this.#data]);
    };
  }

  get #data(): string {
    return join(this.#folder, "data");
  }

  async #initialize({ settings = [], access, certificate }: PostgresOptions): Promise<void> {
    await this.#makeFolder();
    const args = ["-D", this.#data, "-U", "postgres", "-A", "trust", "-E", "UTF8", "--no-locale", "--no-sync"];
    await run(join(this.#programs, "initdb"), args, { ...this.#user, cwd: "/" });
    this.#settings.push(...settings);
    if (access) await Deno.writeTextFile(join(this.#data, "pg_hba.conf"), [...access, ""].join("\n"));
    if (!certificate) return;
    const [cert, key] = ["cert", "key"].map((name) => join(this.#data, `${name}.pem`)) as [string, string];
    await Deno.writeTextFile(cert, certificate.cert);
    await Deno.writeTextFile(key, certificate.key, { mode: 0o600 });
    await Promise.all([cert, key].map((path) => this.#give(path)));
    this.#settings.push("ssl=on", `ssl_cert_file=${cert}`, `ssl_key_file=${key}`);
  }

  async #makeFolder(): Promise<void> {
    // The program must pass the folder, whose owner may be another user.
    await Deno.chmod(this.#folder, 0o755);
    await Deno.mkdir(this.#data, { mode: 0o700 });
    await this.#give(this.#data);
  }

  async #give(path: string): Promise<void> {
    const { uid, gid } = this.#user;
    if (uid !== undefined && gid !== undefined) await Deno.chown(path, uid, gid);
  }

  #signalAll(name: Deno.Signal): void {
    if (!this.#process) return;
    // The first one makes the others.
    signal(this.#process.pid, name);
    for (const pid of childrenOf(this.#process.pid)) signal(pid, name);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const process = this.#process;
    this.thaw();
    // A server that is killed leaves a segment of shared memory in the system.
    if (process) signal(process.pid, "SIGQUIT");
    await process?.status;
    await Deno.remove(this.#folder, { recursive: true });
  }
}

/** That of root's server: the user of Debian's package, or one without any rights. */
export async function serverUser(): Promise<ServerUser> {
  if (Deno.uid() !== 0) return {};
  const users = (await Deno.readTextFile("/etc/passwd")).split("\n").map((line) => line.split(":"));
  const found = users.find(([name]) => name === "postgres") ?? users.find(([name]) => name === "nobody");
  return { uid: Number(found![2]), gid: Number(found![3]) };
}

function childrenOf(pid: number): number[] {
  // It fails if there are none.
  const { stdout } = new Deno.Command("ps", { args: ["-o", "pid=", "--ppid", `${pid}`] }).outputSync();
  return new TextDecoder().decode(stdout).split(/\s+/).filter((pid) => pid !== "").map(Number);
}

function signal(pid: number, name: Deno.Signal): void {
  try {
    Deno.kill(pid, name);
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
  }
}

/** A process that has ended stays until its parent asks for its status. */
function isAlive(pid: number): boolean {
  try {
    return !Deno.readTextFileSync(`/proc/${pid}/stat`).includes(") Z ");
  } catch {
    return false;
  }
}

async function run(program: string, args: string[], options: Deno.CommandOptions = {}): Promise<string> {
  const { success, stdout, stderr } = await new Deno.Command(program, { args, ...options }).output();
  const decoder = new TextDecoder();
  if (!success) throw new Error(`${program} failed: ${decoder.decode(stderr).trim()}`);
  return decoder.decode(stdout);
}

async function isFile(path: string): Promise<boolean> {
  try {
    return (await Deno.stat(path)).isFile;
  } catch {
    return false;
  }
}
