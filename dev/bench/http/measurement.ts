// Measures servers with one workload: starts them, checks them, and loads them in turn.

import { check, remarkableHeaders } from "./checks.ts";
import type { LoadGenerator } from "./load.ts";
import { ServerProcess } from "./server_process.ts";
import type { Work, WorkloadRequest } from "./workloads.ts";

/** A server that takes part. */
export interface Entry {
  server: string;
  fillerRoutes: number;
  /** The program and its arguments. */
  command: string[];
  /** What it has to answer, when it listens on a port. */
  workAt(port: number): Promise<Work>;
}

/** How one server did in one round. */
export interface Sample {
  /** Replies per second. */
  rate: number;
  /** The server's CPU time per request in microseconds, if the system reports it. */
  cpu: number | undefined;
  /**
   * The share of the time in which the server was busy: far below 1, something else was the
   * bottleneck.
   */
  busy: number | undefined;
}

/** A server with a number of filler routes, and how it did in every round. */
export interface Contestant {
  server: string;
  fillerRoutes: number;
  /** Headers that its replies carry beyond those of the workload. */
  headers: string[];
  /** Why it was left out; empty if it was measured. */
  faults: string[];
  samples: Sample[];
}

/** The conditions of a run. */
export interface Conditions {
  load: LoadGenerator;
  /** The command that pins a server to a core, or nothing. */
  prefix: string[];
  rounds: number;
  /** In milliseconds. */
  duration: number;
  connections: number;
  signal: AbortSignal;
}

/**
 * Measures servers in interleaved rounds. Each round starts with another server.
 * Servers that fail the checks are left out.
 */
export async function measure(entries: Entry[], conditions: Conditions): Promise<Contestant[]> {
  await using stack = new AsyncDisposableStack();
  const contestants: Contestant[] = [];
  const running: { contestant: Contestant; process: ServerProcess; request: WorkloadRequest }[] = [];
  for (const { server, fillerRoutes, command, workAt } of entries) {
    const contestant: Contestant = { server, fillerRoutes, headers: [], faults: [], samples: [] };
    contestants.push(contestant);
    try {
      const process = stack.use(await ServerProcess.start([...conditions.prefix, ...command], conditions.signal));
      const work = await workAt(process.port);
      contestant.faults = await check(work, process.port);
      contestant.headers = await remarkableHeaders(work, process.port);
      if (contestant.faults.length === 0) running.push({ contestant, process, request: work.measured.request });
    } catch (error) {
      conditions.signal.throwIfAborted();
      contestant.faults = [error instanceof Error ? error.message : String(error)];
    }
  }
  for (const { process, request } of running) {
    await sample(request, process, conditions); // Warms the server up.
  }
  for (let round = 0; round < conditions.rounds; round++) {
    const first = round % running.length;
    for (const { contestant, process, request } of [...running.slice(first), ...running.slice(0, first)]) {
      contestant.samples.push(await sample(request, process, conditions));
    }
  }
  return contestants;
}

/** The longest load, in milliseconds, after which a server without a reply counts as broken. */
const MAX_DURATION = 10_000;

async function sample(
  request: WorkloadRequest,
  process: ServerProcess,
  conditions: Conditions,
): Promise<Sample> {
  const { load, duration, connections, signal } = conditions;
  const { port } = process;
  const before = process.cpuTime();
  const { requests, seconds, failures } = await load.run({
    port,
    request,
    duration,
    connections,
    signal,
  });
  const after = process.cpuTime();
  // On a busy machine, a short load can end before the first reply.
  if (requests === 0 && failures === 0 && duration < MAX_DURATION) {
    return await sample(request, process, { ...conditions, duration: 2 * duration });
  }
  if (failures > 0 || !(requests > 0)) {
    throw new Error(
      `Cannot measure ${request.target}: ${failures} of ${requests} requests failed`,
    );
  }
  const cpu = before === undefined || after === undefined ? undefined : after - before;
  return {
    rate: requests / seconds,
    cpu: cpu === undefined ? undefined : cpu / requests,
    busy: cpu === undefined ? undefined : cpu / 1e6 / seconds,
  };
}
