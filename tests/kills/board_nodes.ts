/** Two nodes of the boards behind nginx, as processes. */
import { client } from "@webfw/core/client";
import { join } from "node:path";
import { prepareDeno } from "../../dev/tools/deno.ts";
import { Lines } from "../cli/lines.ts";
import { freePorts } from "../support/free_ports.ts";
import { inTime, until } from "../support/wait.ts";
import { type Api, INBOX_SECRET, PASSWORD } from "../examples/temporary_board.ts";

const EXAMPLE = join(import.meta.dirname!, "..", "..", "examples", "board");

/** A process that writes to its stderr. */
class Process implements AsyncDisposable {
  readonly #child: Deno.ChildProcess;
  readonly #lines: Lines;

  constructor(child: Deno.ChildProcess) {
    this.#child = child;
    this.#lines = new Lines(child.stderr);
  }

  /** Waits until it listens. */
  async listening(): Promise<void> {
    await this.#lines.next(/Listening on http/);
  }

  /** Stops it as a supervisor does. Returns the exit code. */
  async stop(signal: Deno.Signal = "SIGTERM"): Promise<number> {
    try {
      this.#child.kill(signal);
    } catch (error) {
      // It has ended by itself.
      if (!(error instanceof TypeError)) throw error;
    }
    const { code } = await inTime(this.#child.status, () => `the process ends:\n${this.#lines.text}`);
    await this.#lines.ended;
    return code;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
  }
}

/** The nodes and the proxy. */
export class BoardNodes implements AsyncDisposable {
  readonly origin: string;
  /** The file that has the rows and the topics. */
  readonly file: string;
  readonly #folder: string;
  readonly #ports: readonly number[];
  readonly #nodes: Process[] = [];
  #nginx: Process | undefined;

  private constructor(folder: string, [proxy, ...ports]: readonly number[]) {
    this.#folder = folder;
    this.file = join(folder, "data", "board.sqlite");
    this.#ports = ports;
    this.origin = `http://127.0.0.1:${proxy}`;
  }

  static async start(): Promise<BoardNodes> {
    const folder = await Deno.makeTempDir({ prefix: "board_nodes_" });
    const board = new BoardNodes(folder, freePorts(3));
    try {
      await Deno.writeTextFile(join(folder, "board.js"), "// the script");
      for (const index of [0, 1]) await board.#start(index);
      await board.#startNginx();
    } catch (error) {
      await board[Symbol.asyncDispose]();
      throw error;
    }
    return board;
  }

  /** Stops a node, starts it again, and waits until it serves. Returns the exit code of the old process. */
  async restart(index: number, signal: Deno.Signal = "SIGTERM"): Promise<number> {
    const code = await this.#nodes[index]!.stop(signal);
    await this.#start(index);
    return code;
  }

  /** A signed-in client, whose requests go through the proxy. */
  async register(name: string): Promise<ReturnType<typeof client<Api>>> {
    const body = { email: `${name}@example.com`, name, password: PASSWORD };
    const response = await fetch(`${this.origin}/v1/register`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(body),
    });
    if (!response.ok) throw new Error(await response.text());
    await response.body?.cancel();
    const cookie = response.headers.get("set-cookie")!.split(";")[0]!;
    return client<Api>(`${this.origin}/v1`, { headers: { cookie } });
  }

  /** The texts of all mails, when there are at least so many. */
  async mails(count: number): Promise<string[]> {
    const folder = join(this.#folder, "data", "mails");
    const files = () => [...Deno.readDirSync(folder)].map(({ name }) => join(folder, name));
    await until(`${count} mails were sent`, () => files().length >= count);
    return await Promise.all(files().map((file) => Deno.readTextFile(file)));
  }

  async #start(index: number): Promise<void> {
    await using prepared = await prepareDeno(["run", "-A", "--quiet", join(EXAMPLE, "serve.ts")], {
      cwd: this.#folder,
      env: {
        NO_COLOR: "1",
        PORT: `${this.#ports[index]}`,
        BOARD_DATA: join(this.#folder, "data"),
        BOARD_ADMIN_TOKEN: "a".repeat(32),
        BOARD_INBOX_SECRET: INBOX_SECRET,
        BOARD_PROXIES: "1",
        BOARD_HOSTS: "127.0.0.1",
        BOARD_SCRIPT: join(this.#folder, "board.js"),
      },
      stdin: "null",
      stdout: "null",
      stderr: "piped",
    });
    const node = new Process(prepared.command.spawn());
    this.#nodes[index] = node;
    await node.listening();
  }

  /** Starts nginx by the configuration of the example, with ports and paths of the test. */
  async #startNginx(): Promise<void> {
    const [one, two] = this.#ports;
    const temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
      .map((name) => `${name}_temp_path ${join(this.#folder, name)};`).join("\n");
    const config = (await Deno.readTextFile(join(EXAMPLE, "nginx.conf")))
      .replace("127.0.0.1:8000", new URL(this.origin).host)
      .replace("127.0.0.1:8001", `127.0.0.1:${one}`)
      .replace("127.0.0.1:8002", `127.0.0.1:${two}`)
      .replace("access_log off;", `access_log off;\n${temporary}`);
    await Deno.writeTextFile(join(this.#folder, "nginx.conf"), config);
    const args = ["-p", this.#folder, "-e", "stderr", "-c", join(this.#folder, "nginx.conf")];
    const command = new Deno.Command("nginx", { args, stdin: "null", stdout: "null", stderr: "piped" });
    this.#nginx = new Process(command.spawn());
    await until("nginx serves", async () => {
      const response = await fetch(`${this.origin}/ready`).catch(() => undefined);
      await response?.body?.cancel();
      return response?.status === 200;
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#nginx?.stop("SIGTERM");
    for (const node of this.#nodes) await node.stop();
    await Deno.remove(this.#folder, { recursive: true });
  }
}

/** Whether nginx is installed. */
export const hasNginx = await new Deno.Command("nginx", { args: ["-v"], stdout: "null", stderr: "null" })
  .output().then(({ success }) => success, () => false);
