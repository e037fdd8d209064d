// `deno task bench uploads`: uploads of a gibibyte over a socket. The exit code says whether memory
// stayed flat, and whether refusals came in time. Speed does not matter.

import { fileURLToPath } from "node:url";
import { note } from "../figure.ts";
import { ServerProcess } from "../http/server_process.ts";
import { ownProgram } from "../own_program.ts";
import { type Outcome, send, type Upload } from "./client.ts";
import { readOptions, USAGE } from "./options.ts";

const SERVER = fileURLToPath(new URL("server.ts", import.meta.url));

const MEBIBYTE = 1024 * 1024;

/**
 * The bytes in the socket buffers of both sides, and those that the client sends before it reads
 * the reply.
 */
const ON_THE_WAY = 64 * MEBIBYTE;

/** The limit of the route for small uploads, in bytes. */
const SMALL = 64 * MEBIBYTE;

/** An upload, and its expected outcome. */
interface Case {
  readonly name: string;
  readonly upload: Omit<Upload, "port">;
  readonly status: number;
  /** How many bytes of the file may be sent before the reply. */
  readonly sentAtMost?: number;
}

function casesOf(size: number): Case[] {
  return [
    { name: "to disk", upload: { path: "/form", size, isAnnounced: true }, status: 200 },
    // Deno becomes slower with chunked bodies the further its reader falls behind.
    {
      name: "to disk, an eighth, of unknown length",
      upload: { path: "/form", size: size / 8, isAnnounced: false },
      status: 200,
    },
    { name: "as a stream", upload: { path: "/stream", size, isAnnounced: true }, status: 200 },
    { name: "to disk and back", upload: { path: "/back", size, isAnnounced: true }, status: 200 },
    {
      name: "above the limit, announced",
      upload: { path: "/small", size: size + 2 * SMALL, isAnnounced: true },
      status: 413,
      sentAtMost: ON_THE_WAY,
    },
    {
      name: "above the limit, of unknown length",
      upload: { path: "/small", size: size + 2 * SMALL, isAnnounced: false },
      status: 413,
      sentAtMost: SMALL + ON_THE_WAY,
    },
    {
      name: "stalled, with a second to read it",
      upload: { path: "/stalled", size, isAnnounced: true, stallsAt: size / 4 },
      status: 408,
    },
  ];
}

/** Measures, and returns the exit code. */
export async function main(args: string[], signal: AbortSignal): Promise<number> {
  const { size, growth, help } = readOptions(args);
  if (help) {
    console.log(USAGE);
    return 0;
  }
  console.log(`A file of ${size} MiB. Memory in MiB: resident before, at its peak, after.\n`);
  console.log(row("upload", "status", "sent before", "seconds", "MiB/s", "before", "peak", "after"));
  let hasFaults = false;
  for (const one of casesOf(size * MEBIBYTE)) {
    signal.throwIfAborted();
    const { line, faults } = await measure(one, growth, signal);
    console.log(line);
    for (const fault of faults) console.error(`  FAULT ${fault}`);
    hasFaults ||= faults.length > 0;
  }
  return hasFaults ? 1 : 0;
}

/** Sends one upload to a new server, after a small upload has warmed it up. */
async function measure(
  { name, upload, status, sentAtMost = Infinity }: Case,
  growth: number,
  signal: AbortSignal,
): Promise<{ line: string; faults: string[] }> {
  await using server = await ServerProcess.start(ownProgram(SERVER, "--no-lock", "--quiet"), signal);
  await send({ port: server.port, path: upload.path, size: 2 * MEBIBYTE, isAnnounced: true });
  const before = server.memory();
  const outcome = await send({ ...upload, port: server.port });
  const after = server.memory();
  const faults: string[] = [];
  if (outcome.status !== status) faults.push(`status ${outcome.status}, wanted ${status}`);
  if (outcome.sent > sentAtMost) faults.push(`${outcome.sent} bytes were sent before the reply`);
  const grown = before && after ? (after.peak - before.now) / MEBIBYTE : 0;
  note({ measure: "growth of the memory", contestant: name, value: grown, unit: "MiB", rounds: 1 });
  if (grown > growth) faults.push(`the memory grew by ${Math.round(grown)} MiB`);
  return { line: lineOf(name, outcome, [before?.now, after?.peak, after?.now]), faults };
}

function lineOf(name: string, { status, sent, seconds }: Outcome, memory: (number | undefined)[]): string {
  const speed = (sent / MEBIBYTE / seconds).toFixed(0);
  const figures = memory.map((bytes) => bytes === undefined ? "-" : mebibytes(bytes));
  return row(name, String(status), mebibytes(sent), seconds.toFixed(1), speed, ...figures);
}

function row(name: string, ...cells: string[]): string {
  return `  ${name.padEnd(38)}${cells.map((cell) => cell.padStart(12)).join("")}`;
}

function mebibytes(bytes: number): string {
  return (bytes / MEBIBYTE).toFixed(1);
}
