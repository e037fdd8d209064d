// `deno task bench sse`: events of a topic compared with a loop that enqueues each event to each
// stream, over sockets: how fast they reach many clients, and the memory of clients. Speed never
// decides the exit code. A client that does not read and costs too much memory does, and so does a
// client that misses an event.

import { note } from "../figure.ts";
import { chooseCores } from "../http/cores.ts";
import type { Spread } from "../http/statistics.ts";
import { BASELINE } from "./contestants.ts";
import { measureFanOut, type Speed } from "./fan_out.ts";
import { measureStalled, measureSubscribers, type Memory } from "./memory.ts";
import { type Options, readOptions, USAGE } from "./options.ts";

const KIB = 1024;
const MIB = 1024 * KIB;

/** The most memory that a client that does not read may cost. */
const MAX_STALLED = 20 * MIB;

/** Memory varies less than speed, and takes longer to measure. */
const MEMORY_ROUNDS = 3;

/** Measures, and returns the exit code. */
export async function main(args: string[], signal: AbortSignal): Promise<number> {
  const options = readOptions(args);
  if (options.help) {
    console.log(USAGE);
    return 0;
  }
  const { processes, rounds, events, subscribers, idle, stalled } = options;
  const cores = await chooseCores();
  console.log(heading(options, cores.server.length > 0 ? "servers pinned to a core" : cores.description));
  for (const publishers of [1, 16]) {
    const speeds = await measureFanOut({ publishers, events, subscribers, processes, rounds, cores, signal });
    console.log(`${figure(subscribers)} clients, ${publishers === 1 ? "one publisher" : `${publishers} publishers`}`);
    console.log("             deliveries/s        times the loop    CPU us    CPU efficiency");
    console.log(speeds.map(speedLine).join("\n") + "\n");
    for (const { name, rate, throughput } of speeds) {
      const measure = `${figure(subscribers)} clients, publishers: ${publishers}`;
      const unit = "deliveries/s";
      note({ measure, contestant: name, reference: BASELINE, value: rate, unit, ratio: throughput, rounds: processes });
    }
  }
  const memoryRounds = Math.min(processes, MEMORY_ROUNDS);
  const clients = await measureSubscribers(idle, memoryRounds, signal);
  console.log(`${figure(idle)} clients, resident memory for each, medians of ${memoryRounds}`);
  console.log(clients.map((memory) => memoryLine(memory, KIB, "KiB")).join("\n") + "\n");
  noteMemory("memory of a client", clients, KIB, "KiB", memoryRounds);
  const costs = await measureStalled(stalled, memoryRounds, signal);
  console.log(`one client that reads none of ${figure(stalled)} events, resident memory, medians of ${memoryRounds}`);
  console.log(costs.map((memory) => memoryLine(memory, MIB, "MiB")).join("\n"));
  noteMemory(`a client that reads none of ${figure(stalled)} events`, costs, MIB, "MiB", memoryRounds);
  return costs.every(({ name, bytes }) => name === BASELINE || bytes < MAX_STALLED) ? 0 : 1;
}

/** Notes figures for the table of all measurements. */
function noteMemory(measure: string, costs: Memory[], scale: number, unit: string, rounds: number): void {
  for (const { name, bytes, ratio } of costs) {
    note({ measure, contestant: name, reference: BASELINE, value: bytes / scale, unit, ratio, rounds });
  }
}

function heading({ processes, rounds, events }: Options, cores: string): string {
  const { deno, v8 } = Deno.version;
  return `Deno ${deno}, V8 ${v8}, ${Deno.build.target}; ${cores}
${processes} processes of each, for ${rounds} interleaved rounds of ${events} events; medians, in parentheses the lowest and the highest process
"loop" encodes each event once and enqueues it to each stream: it keeps nothing and is not bounded
The CPU time is the server's for each delivery; a machine with other work slows deliveries, but changes that little.
`;
}

function speedLine({ name, rate, throughput, cpu, efficiency }: Speed): string {
  return [
    `  ${name.padEnd(8)}`,
    figure(rate).padStart(15),
    spread(throughput).padStart(22),
    (cpu?.toFixed(2) ?? "-").padStart(10),
    (cpu === undefined ? "-" : spread(efficiency)).padStart(22),
  ].join("");
}

function memoryLine({ name, bytes, ratio }: Memory, unit: number, symbol: string): string {
  return `  ${name.padEnd(8)}${(bytes / unit).toFixed(1).padStart(11)} ${symbol}${spread(ratio).padStart(22)}`;
}

function spread({ median, min, max }: Spread): string {
  return `${median.toFixed(2)} (${min.toFixed(2)} to ${max.toFixed(2)})`;
}

function figure(value: number): string {
  return Math.round(value).toLocaleString("en");
}
