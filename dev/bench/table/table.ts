// The table of all measurements, in Markdown for documents.

import type { Figure } from "../figure.ts";

const HEAD = ["", "contestant", "median", "ratio", "to", "rounds"];

/** The part of one measurement. */
export function section(title: string, figures: Figure[]): string {
  const rows = [HEAD, ...figures.map((figure, index) => cellsOf(figure, figures[index - 1]))];
  const widths = HEAD.map((_, column) => Math.max(3, ...rows.map((row) => row[column]?.length ?? 0)));
  const lineOf = (row: string[]) =>
    `| ${
      row.map((cell, column) => isText(column) ? cell.padEnd(widths[column] ?? 0) : cell.padStart(widths[column] ?? 0))
        .join(" | ")
    } |`;
  const rule = `| ${
    widths.map((width, column) => isText(column) ? "-".repeat(width) : "-".repeat(width - 1) + ":").join(" | ")
  } |`;
  const [head = "", ...lines] = rows.map(lineOf);
  return [`### ${title}`, "", head, rule, ...lines, ""].join("\n");
}

/** Only the first line of a measurement has its name. */
function cellsOf(
  { measure, contestant, reference, value, unit, ratio, rounds }: Figure,
  above: Figure | undefined,
): string[] {
  const digits = Math.abs(value) >= 100 ? 0 : Math.abs(value) >= 10 ? 1 : 2;
  const figure = value.toLocaleString("en", { minimumFractionDigits: digits, maximumFractionDigits: digits });
  return [
    above?.measure === measure ? "" : measure,
    contestant,
    `${figure} ${unit}`,
    ratio ? `${ratio.median.toFixed(2)} (${ratio.min.toFixed(2)} to ${ratio.max.toFixed(2)})` : "",
    reference ?? "",
    `${rounds}`,
  ];
}

function isText(column: number): boolean {
  return column < 2 || column === 4;
}
