// The tables: each server compared with the handler by hand, and with itself with more routes.

import { compare, type Comparison } from "./comparison.ts";
import type { Contestant } from "./measurement.ts";
import { BASELINE } from "./servers.ts";
import { median, type Spread } from "./statistics.ts";
import type { Workload } from "./workloads.ts";

/** The text for one measured workload. */
export function report(
  { title, fillerRoutes }: Workload,
  contestants: Contestant[],
): string {
  const measured = contestants.filter(({ samples }) => samples.length > 0);
  const sections = fillerRoutes.flatMap((count) => {
    const group = measured.filter((each) => each.fillerRoutes === count);
    const baseline = group.find(({ server }) => server === BASELINE);
    if (!baseline) return [];
    const caption = fillerRoutes.length > 1 ? `, ${count} other routes` : "";
    return [
      `${title}${caption}: ratios to ${BASELINE}`,
      table(group.map((each) => compare(each, baseline))),
    ];
  });
  const [fewest, most] = [fillerRoutes.at(0), fillerRoutes.at(-1)];
  if (fewest !== most) {
    const rows = measured.flatMap((each) => {
      const reference = measured.find((other) => other.server === each.server && other.fillerRoutes === fewest);
      return each.fillerRoutes === most && reference ? [compare(each, reference)] : [];
    });
    sections.push(
      `${title}: ratios of ${most} routes to ${fewest}, each server to itself`,
      table(rows),
    );
  }
  return [...sections, ...doubts(measured), ...remarks(contestants)]
    .join("\n") + "\n";
}

function table(rows: Comparison[]): string {
  const cells = [
    ["server", "replies/s", "throughput", "CPU us", "CPU efficiency", "busy", "rounds"],
    ...rows.map(({ server, rate, throughput, cpu, efficiency, busy, rounds }) => [
      server,
      Math.round(rate).toLocaleString("en"),
      spread(throughput),
      cpu?.toFixed(2) ?? "-",
      spread(efficiency),
      busy === undefined ? "-" : percent(busy),
      `${rounds}`,
    ]),
  ];
  const widths = (cells[0] ?? []).map((_, column) => Math.max(...cells.map((row) => row[column]?.length ?? 0)));
  return cells.map((row) =>
    "  " +
    row.map((cell, column) =>
      column === 0 ? cell.padEnd(widths[column] ?? 0) : cell.padStart((widths[column] ?? 0) + 2)
    ).join("")
  ).join("\n");
}

function percent(share: number): string {
  return `${Math.round(share * 100)} %`;
}

function spread(value: Spread | undefined): string {
  if (!value) return "-";
  return `${value.median.toFixed(3)} (${value.min.toFixed(2)}-${value.max.toFixed(2)})`;
}

/** Whether the throughput measures the servers, which it does where they are busy all the time. */
function doubts(contestants: Contestant[]): string[] {
  const shares = contestants.flatMap(({ samples }) => samples.flatMap(({ busy }) => busy ?? []));
  if (shares.length === 0 || median(shares) >= 0.9) return [];
  return [
    `  The servers were busy for ${percent(median(shares))} of the time: ` +
    "the machine has other work, or the load is too small. Only the CPU columns mean something.",
  ];
}

/**
 * Which contestants were left out and why, and which headers replies have that the workload does
 * not ask for.
 */
function remarks(contestants: Contestant[]): string[] {
  const lines = contestants.map(({ server, headers, faults }) => {
    if (faults.length > 0) return `  ${server} left out: ${faults.join("; ")}`;
    return headers.length > 0 ? `  ${server} also sends ${headers.join(", ")}` : "";
  });
  return [...new Set(lines)].filter((line) => line !== "");
}
