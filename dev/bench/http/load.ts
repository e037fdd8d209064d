// The load generators: wrk if it is installed, else autocannon from npm.

import { join } from "node:path";
import { isInstalled } from "./programs.ts";
import type { WorkloadRequest } from "./workloads.ts";

/** Where and how long to send a request over and over. */
export interface LoadTarget {
  port: number;
  request: WorkloadRequest;
  /** In milliseconds. */
  duration: number;
  connections: number;
  signal: AbortSignal;
}

/** The replies that were counted. */
export interface LoadResult {
  requests: number;
  seconds: number;
  /** Replies other than 2xx and broken connections. The figures count only if this is 0. */
  failures: number;
}

/** A program that loads a server from one thread over keep-alive connections. */
export interface LoadGenerator {
  name: string;
  run(target: LoadTarget): Promise<LoadResult>;
}

/**
 * Takes the load generator that this machine has.
 *
 * @param prefix the command that pins it to a core, or nothing
 * @param directory where it may write files
 */
export async function chooseLoadGenerator(
  prefix: string[],
  directory: string,
): Promise<LoadGenerator> {
  return await isInstalled("wrk") ? wrk(prefix, directory) : autocannon(prefix);
}

function wrk(prefix: string[], directory: string): LoadGenerator {
  const script = join(directory, "wrk.lua");
  return {
    name: "wrk, 1 thread",
    async run({ port, request, duration, connections, signal }) {
      await Deno.writeTextFile(script, wrkScript(request));
      const output = await execute(
        [
          ...prefix,
          "wrk",
          "--threads=1",
          `--connections=${connections}`,
          `--duration=${Math.ceil(duration / 1000)}s`,
          `--script=${script}`,
          `http://127.0.0.1:${port}${request.target}`,
        ],
        duration,
        signal,
      );
      const [, requests, microseconds, failures] = /^result (\d+) (\d+) (\d+)$/m.exec(output) ?? [];
      return {
        requests: Number(requests),
        seconds: Number(microseconds) / 1e6,
        failures: Number(failures),
      };
    },
  };
}

function wrkScript({ method, headers = {}, body }: WorkloadRequest): string {
  return [
    `wrk.method = ${lua(method)}`,
    ...Object.entries(headers).map(([name, value]) => `wrk.headers[${lua(name)}] = ${lua(value)}`),
    ...(body === undefined ? [] : [`wrk.body = ${lua(body)}`]),
    `done = function(summary)
  local e = summary.errors
  local failures = e.connect + e.read + e.write + e.status + e.timeout
  io.write(string.format("result %d %d %d\\n", summary.requests, summary.duration, failures))
end`,
  ].join("\n");
}

function lua(text: string): string {
  return `"${
    text.replaceAll(/[^ !#-[\]-~]/gu, (character) =>
      Array.from(
        new TextEncoder().encode(character),
        (byte) => `\\${String(byte).padStart(3, "0")}`,
      ).join(""))
  }"`;
}

function autocannon(prefix: string[]): LoadGenerator {
  return {
    name: "autocannon on Deno (slower than the servers: trust the CPU figures)",
    async run({ port, request, duration, connections, signal }) {
      const { method, headers = {}, body, target } = request;
      const output = await execute(
        [
          ...prefix,
          Deno.execPath(),
          "run",
          "--no-config",
          "--no-lock",
          "-A",
          "npm:autocannon@9.0.0",
          "--json",
          "--no-progress",
          `--connections=${connections}`,
          `--duration=${Math.ceil(duration / 1000)}`,
          `--method=${method}`,
          ...Object.entries(headers).map(([name, value]) => `--headers=${name}=${value}`),
          ...(body === undefined ? [] : [`--body=${body}`]),
          `http://127.0.0.1:${port}${target}`,
        ],
        undefined,
        signal,
      );
      const { requests, duration: seconds, errors, non2xx } = JSON.parse(
        output,
      );
      return { requests: requests.total, seconds, failures: errors + non2xx };
    },
  };
}

/**
 * The stdout of a command, which is interrupted after `duration` milliseconds if it has not ended
 * by then.
 */
async function execute(
  [program = "", ...args]: string[],
  duration: number | undefined,
  signal: AbortSignal,
): Promise<string> {
  const child = new Deno.Command(program, {
    args,
    stdin: "null",
    stdout: "piped",
    stderr: "piped",
    signal,
  }).spawn();
  // wrk takes whole seconds only. When it is interrupted, it reports what it has.
  const timeout = duration === undefined || duration % 1000 === 0
    ? undefined
    : setTimeout(() => child.kill("SIGINT"), duration);
  const { success, stdout, stderr, signal: killedBy } = await child.output();
  clearTimeout(timeout);
  const decoder = new TextDecoder();
  if (success) return decoder.decode(stdout);
  // On a busy machine, wrk was interrupted before it had set up its handler: give it more time.
  if (killedBy === "SIGINT" && duration !== undefined && !signal.aborted) {
    return await execute([program, ...args], 2 * duration + 1, signal);
  }
  throw new Error(`Cannot load the server: ${decoder.decode(stderr)}`);
}
