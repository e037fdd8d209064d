// A running server: its port, its CPU time, and its end.

const START_TIMEOUT = 30_000;
const STOP_TIMEOUT = 5_000;
/** Linux counts CPU time for /proc in ticks of 1/100 s on every architecture that Deno runs on. */
const MICROSECONDS_PER_TICK = 10_000;

/** A started server; disposing of it ends the process. */
export class ServerProcess implements AsyncDisposable {
  /** The port it listens on. */
  readonly port: number;
  readonly #child: Deno.ChildProcess;

  private constructor(child: Deno.ChildProcess, port: number) {
    this.#child = child;
    this.port = port;
  }

  /**
   * Starts a command and waits until it prints its port.
   *
   * @throws {Error} If it ends or prints nothing, with its stderr.
   */
  static async start(
    [program = "", ...args]: string[],
    signal: AbortSignal,
  ): Promise<ServerProcess> {
    const child = new Deno.Command(program, {
      args,
      stdin: "null",
      stdout: "piped",
      stderr: "piped",
      env: { NO_COLOR: "1" },
      signal,
    }).spawn();
    const complaint = new Response(child.stderr).text();
    const timeout = setTimeout(() => child.kill("SIGKILL"), START_TIMEOUT);
    const port = await readPort(child.stdout);
    clearTimeout(timeout);
    if (port !== undefined) return new ServerProcess(child, port);
    await child.status;
    throw new Error(`Cannot start the server: ${(await complaint).trim()}`);
  }

  /**
   * The CPU time of the process so far, user and system, in microseconds, if the system reports it.
   */
  cpuTime(): number | undefined {
    if (Deno.build.os !== "linux") return undefined;
    const stat = Deno.readTextFileSync(`/proc/${this.#child.pid}/stat`);
    // The second field is the program's name in parentheses, and may contain spaces. Fields 14 and
    // 15 are utime and stime.
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    return (Number(fields[11]) + Number(fields[12])) * MICROSECONDS_PER_TICK;
  }

  /**
   * The CPU time of the threads that run now, in milliseconds, if the system reports it. It is
   * exact to a nanosecond: a tick is too long for a start.
   */
  threadTime(): number | undefined {
    if (Deno.build.os !== "linux") return undefined;
    const folder = `/proc/${this.#child.pid}/task`;
    const times = Array.from(Deno.readDirSync(folder), ({ name }) => {
      const [nanoseconds] = Deno.readTextFileSync(`${folder}/${name}/schedstat`).split(" ");
      return Number(nanoseconds) / 1e6;
    });
    return times.reduce((sum, time) => sum + time, 0);
  }

  /** The resident memory of the process in bytes, now and its maximum, if the system reports it. */
  memory(): { now: number; peak: number } | undefined {
    if (Deno.build.os !== "linux") return undefined;
    const status = Deno.readTextFileSync(`/proc/${this.#child.pid}/status`);
    const read = (name: string) => Number(new RegExp(`^${name}:\\s+(\\d+) kB$`, "m").exec(status)?.[1]) * 1024;
    return { now: read("VmRSS"), peak: read("VmHWM") };
  }

  /** Asks the process to end, and ends it if it does not. */
  async [Symbol.asyncDispose](): Promise<void> {
    try {
      this.#child.kill("SIGTERM");
    } catch {
      return; // It has ended by itself.
    }
    const timeout = setTimeout(() => this.#child.kill("SIGKILL"), STOP_TIMEOUT);
    await this.#child.status;
    clearTimeout(timeout);
  }
}

/** The port that the process prints, or undefined if its output ends before. */
async function readPort(
  stdout: ReadableStream<Uint8Array<ArrayBuffer>>,
): Promise<number | undefined> {
  const reader = stdout.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  while (true) {
    const { done, value } = await reader.read();
    if (done) return undefined;
    text += value;
    const port = /^port (\d+)\n/m.exec(text)?.[1];
    if (port === undefined) continue;
    drain(reader);
    return Number(port);
  }
}

/** Reads to the end, because a process blocks when its output is not read. */
async function drain(reader: ReadableStreamDefaultReader): Promise<void> {
  while (!(await reader.read()).done);
}
