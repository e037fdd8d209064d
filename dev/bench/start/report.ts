// The table of the costs of starts.

import { median, ratios, type Spread } from "../http/statistics.ts";
import type { Contestant } from "./contestants.ts";
import type { Sample } from "./first_reply.ts";

const MIB = 1024 * 1024;

/** A contestant and its samples, one for each round. */
export interface Measured {
  contestant: Contestant;
  samples: Sample[];
}

/** A contestant compared with its reference. */
export interface Comparison {
  /** Its first replies divided by those of the reference, process by process. */
  time: Spread;
  /** The same for the CPU time, if the system reports it. */
  cpu: Spread | undefined;
  /**
   * Its memory beyond that of the reference in bytes, by the medians; NaN if the system does not
   * report it.
   */
  memory: number;
}

/**
 * Compares a contestant with its reference.
 *
 * @throws {Error} if the reference was not measured
 */
export function compare({ contestant, samples }: Measured, all: Measured[]): Comparison {
  const reference = all.find(({ contestant: { name } }) => name === contestant.reference);
  if (!reference) throw new Error(`Cannot compare "${contestant.name}": "${contestant.reference}" was not measured`);
  const times = (of: Sample[]) => of.map(({ time }) => time);
  const cpu = cpuTimes(samples);
  const referenceCpu = cpuTimes(reference.samples);
  return {
    time: ratios(times(samples), times(reference.samples)),
    cpu: cpu && referenceCpu && ratios(cpu, referenceCpu),
    memory: memoryOf(samples) - memoryOf(reference.samples),
  };
}

/** The table, a line for each contestant. */
export function table(all: Measured[]): string {
  const rows = all.map((measured) => {
    const { contestant: { name, reference }, samples } = measured;
    const { time, cpu, memory } = compare(measured, all);
    return [
      name,
      median(samples.map(({ time }) => time)).toFixed(1),
      spread(time),
      cpuTimes(samples) ? median(cpuTimes(samples)!).toFixed(1) : "-",
      cpu ? spread(cpu) : "-",
      mebibytes(memoryOf(samples)),
      mebibytes(memory),
      reference,
    ];
  });
  const cells = [["", "first reply ms", "ratio", "CPU ms", "ratio", "resident MiB", "more MiB", "than"], ...rows];
  const widths = (cells[0] ?? []).map((_, column) => Math.max(...cells.map((row) => row[column]?.length ?? 0)));
  return cells.map((row) =>
    "  " + row.map((cell, column) => {
      const width = widths[column] ?? 0;
      return column === 0 ? cell.padEnd(width) : cell.padStart(width + 2);
    }).join("")
  ).join("\n");
}

/** One sentence for each figure above its limit. */
export function excesses(all: Measured[]): string[] {
  return all.flatMap((measured) => {
    const { name, reference, bounds } = measured.contestant;
    if (!bounds) return [];
    const { time, cpu, memory } = compare(measured, all);
    const found: string[] = [];
    if (bounds.cpu !== undefined && cpu && cpu.median > bounds.cpu) {
      found.push(
        `"${name}" takes ${cpu.median.toFixed(2)} times the CPU time of "${reference}", allowed are ${bounds.cpu}`,
      );
    }
    if (bounds.time !== undefined && time.median > bounds.time) {
      found.push(
        `"${name}" takes ${time.median.toFixed(2)} times what "${reference}" takes, allowed are ${bounds.time}`,
      );
    }
    if (bounds.memory !== undefined && memory > bounds.memory) {
      found.push(
        `"${name}" holds ${mebibytes(memory)} MiB more than "${reference}", allowed are ${mebibytes(bounds.memory)}`,
      );
    }
    return found;
  });
}

/** The CPU times; undefined if the system does not report them. */
export function cpuTimes(samples: Sample[]): number[] | undefined {
  const times = samples.flatMap(({ cpu }) => cpu ?? []);
  return times.length > 0 ? times : undefined;
}

function spread({ median, min, max }: Spread): string {
  return `${median.toFixed(2)} (${min.toFixed(2)} to ${max.toFixed(2)})`;
}

/** The resident memory, by the median. */
export function memoryOf(samples: Sample[]): number {
  return median(samples.map(({ memory }) => memory ?? NaN));
}

function mebibytes(bytes: number): string {
  return Number.isNaN(bytes) ? "-" : (bytes / MIB).toFixed(1);
}
