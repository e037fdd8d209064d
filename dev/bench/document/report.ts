// The table of the costs of documents.

import { median, ratios } from "../http/statistics.ts";
import type { Sample } from "./one_document.ts";

/** The samples of one application. */
export interface Measured {
  application: string;
  samples: Sample[];
}

/** For each process, the ratio of making the document to writing it. */
export function ratiosOf({ samples }: Measured): ReturnType<typeof ratios> {
  return ratios(samples.map(({ document }) => document), samples.map(({ writing }) => writing));
}

/** The table, a line for each application. */
export function table(rows: Measured[]): string {
  const cells = [
    ["", "kB", "registration", "document", "writing", "document / writing"],
    ...rows.map((row) => {
      const of = (kind: keyof Sample) => median(row.samples.map((sample) => sample[kind]));
      const { median: middle, min, max } = ratiosOf(row);
      return [
        row.application,
        (of("length") / 1000).toFixed(0),
        of("registration").toFixed(1),
        of("document").toFixed(1),
        of("writing").toFixed(2),
        `${middle.toFixed(1)} (${min.toFixed(1)}-${max.toFixed(1)})`,
      ];
    }),
  ];
  const widths = (cells[0] ?? []).map((_, column) => Math.max(...cells.map((row) => row[column]?.length ?? 0)));
  const lineOf = ([name = "", ...figures]: string[]) =>
    `  ${name.padEnd(widths[0] ?? 0)}${
      figures.map((text, index) => text.padStart((widths[index + 1] ?? 0) + 2)).join("")
    }`;
  return cells.map(lineOf).join("\n");
}

/** One sentence for each ratio above the limit. */
export function excesses(rows: Measured[], limit: number): string[] {
  return rows.flatMap((row) => {
    const { median: middle } = ratiosOf(row);
    if (middle <= limit) return [];
    return `The document of "${row.application}" takes ${
      middle.toFixed(1)
    } times what writing it takes, allowed are ${limit}`;
  });
}
