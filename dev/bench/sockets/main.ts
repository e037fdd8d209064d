// `deno task bench sockets`: the memory for a client that does not read and for an idle client, and
// the speed of echoes, compared with a server by hand. Only the memory for a client that does not
// read decides the exit code.

import { parseArgs } from "@std/cli/parse-args";
import { readCount, refuseUnknown } from "../command.ts";
import { note } from "../figure.ts";
import { ServerProcess } from "../http/server_process.ts";
import { median, ratios } from "../http/statistics.ts";
import { ownProgram } from "../own_program.ts";
import { openStalled, Sockets } from "./clients.ts";

/** Printed for `--help`. */
const USAGE = `Measures WebSockets beside a server written by hand.

Options:
  --events <n>    events that are sent to a client that does not read (default 100000)
  --sockets <n>   sockets that are open and idle (default 2000)
  --rounds <n>    interleaved rounds of echoes (default 5)
  --quick         one round, 10000 events, 200 sockets
  --help          print this text`;

/** The most memory that one client that does not read may cost. */
const MAX_STALLED = 20 * 1024 * 1024;

/**
 * V8's young generation grows by tens of MiB if it may, which would hide the memory of a client.
 */
const V8_FLAGS = "--expose-gc,--max-semi-space-size=1";

const SERVERS = ["hand", "webfw"] as const;
const ECHOING = 32;
const MESSAGES = 2000;
const MESSAGE = JSON.stringify({ id: 7, text: "x".repeat(80) });

/** Measures, and returns the exit code. */
export async function main(args: string[], signal: AbortSignal): Promise<number> {
  const { help, quick, ...given } = parseArgs(args, {
    string: ["events", "sockets", "rounds"],
    boolean: ["quick", "help"],
    unknown: refuseUnknown,
  });
  if (help) {
    console.log(USAGE);
    return 0;
  }
  const count = (text: string | undefined, usual: number) => text === undefined ? usual : readCount(text);
  console.log(`Deno ${Deno.version.deno}, ${Deno.build.target}\n`);
  const costs = await stalledClients(count(given.events, quick ? 10_000 : 100_000), signal);
  await idleClients(count(given.sockets, quick ? 200 : 2000), signal);
  await echoes(count(given.rounds, quick ? 1 : 5), signal);
  return costs.every((cost) => cost < MAX_STALLED) ? 0 : 1;
}

/** Returns the memory of webfw's servers, in bytes. */
async function stalledClients(events: number, signal: AbortSignal): Promise<number[]> {
  console.log(
    `One client that reads none of ${figure(events)} events, resident memory of the server, MiB more, medians of 3:`,
  );
  const costs: number[] = [];
  for (
    const [server, path, name] of [
      ["hand", "/events", "by hand"],
      ["webfw", null, "webfw, without the client"],
      ["webfw", "/events", "webfw, a handler that waits for send()"],
      ["webfw", "/events/impatient", "webfw, one that does not, so that the client is closed"],
    ] as const
  ) {
    const runs: number[] = [];
    for (let run = 0; run < 3; run++) runs.push(await stalledClient(server, path, events, signal));
    const cost = median(runs);
    const measure = `a client that reads none of ${figure(events)} events`;
    note({ measure, contestant: name, value: cost / 1024 / 1024, unit: "MiB", rounds: runs.length });
    if (server === "webfw") costs.push(cost);
    console.log(`  ${name.padEnd(56)}${(cost / 1024 / 1024).toFixed(1).padStart(8)}`);
  }
  console.log();
  return costs;
}

async function stalledClient(
  server: (typeof SERVERS)[number],
  path: string | null,
  events: number,
  signal: AbortSignal,
): Promise<number> {
  await using process = await start(server, signal);
  // The memory that events need once, even without clients, is not a cost of the client.
  for (let warming = 0; warming < 2; warming++) await ask(process.port, `/publish?count=${events}`);
  const before = await ask(process.port, "/memory");
  using _stalled = path === null ? undefined : await openStalled(process.port, path);
  return await ask(process.port, `/publish?count=${events}`) - before;
}

async function idleClients(sockets: number, signal: AbortSignal): Promise<void> {
  console.log(`${figure(sockets)} sockets that are open and idle, resident memory of the server, KiB for each:`);
  for (const server of SERVERS) {
    await using process = await start(server, signal);
    const before = await ask(process.port, "/memory");
    await using _sockets = await Sockets.open(process.port, "/echo", sockets);
    const cost = (await ask(process.port, "/memory") - before) / sockets;
    note({ measure: "an idle socket", contestant: server, value: cost / 1024, unit: "KiB", rounds: 1 });
    console.log(`  ${server.padEnd(56)}${(cost / 1024).toFixed(1).padStart(8)}`);
  }
  console.log();
}

async function echoes(rounds: number, signal: AbortSignal): Promise<void> {
  console.log(`Echoes over ${ECHOING} sockets, messages a second, medians of ${rounds} interleaved rounds:`);
  for (const [path, name] of [["/echo", "text as it is"], ["/echo/json", "JSON, validated by webfw"]] as const) {
    for (const atATime of [1, 50]) {
      const rates = { hand: [] as number[], webfw: [] as number[] };
      await using hand = await start("hand", signal);
      await using webfw = await start("webfw", signal);
      // The first round warms up and does not count.
      for (let round = 0; round <= rounds; round++) {
        for (const [server, { port }] of [["hand", hand], ["webfw", webfw]] as const) {
          signal.throwIfAborted();
          await using sockets = await Sockets.open(port, path, ECHOING);
          const rate = await sockets.echo(MESSAGE, MESSAGES, atATime);
          if (round > 0) rates[server].push(rate);
        }
      }
      const ratio = ratios(rates.webfw, rates.hand);
      const title = `${name}, ${atATime} under way on each`;
      note({
        measure: `echo of ${title}`,
        contestant: "webfw",
        reference: "hand",
        value: median(rates.webfw),
        unit: "messages/s",
        ratio,
        rounds,
      });
      console.log(
        `  ${title.padEnd(48)}${figure(median(rates.hand)).padStart(10)} by hand${
          figure(median(rates.webfw)).padStart(10)
        } webfw   ${ratio.median.toFixed(2)} (${ratio.min.toFixed(2)} to ${ratio.max.toFixed(2)})`,
      );
    }
  }
}

function start(server: (typeof SERVERS)[number], signal: AbortSignal): Promise<ServerProcess> {
  const file = new URL("server.ts", import.meta.url).pathname;
  const command = ownProgram(file, "--no-lock", `--v8-flags=${V8_FLAGS}`);
  return ServerProcess.start([...command, server], signal);
}

async function ask(port: number, path: string): Promise<number> {
  const response = await fetch(`http://127.0.0.1:${port}${path}`);
  return await response.json();
}

function figure(value: number): string {
  return Math.round(value).toLocaleString("en");
}
