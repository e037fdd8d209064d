// One start of a program: the time from the spawn of its process to the first reply, and its memory
// then.

import { ServerProcess } from "../http/server_process.ts";
import { GREETING } from "./greeting.ts";

/** The figures of one process. */
export interface Sample {
  /** From the spawn to the end of the first reply, in milliseconds. */
  time: number;
  /** The CPU time of the process by then in milliseconds, if the system reports it. */
  cpu: number | undefined;
  /** The resident memory after the reply in bytes, if the system reports it. */
  memory: number | undefined;
}

/**
 * Starts a program, asks it once over a socket, and ends it.
 *
 * @throws {Error} if it does not start, or replies anything else than it should
 */
export async function sampleStart(command: string[], signal: AbortSignal): Promise<Sample> {
  const start = performance.now();
  await using server = await ServerProcess.start(command, signal);
  const response = await fetch(`http://127.0.0.1:${server.port}/greeting`, { signal });
  const text = await response.text();
  const time = performance.now() - start;
  const cpu = server.threadTime();
  const memory = server.memory()?.now;
  if (response.status !== 200 || text !== GREETING) {
    throw new Error(`Cannot measure a start: the first reply was ${response.status} "${text}"`);
  }
  return { time, cpu, memory };
}
