// The tables of instantiations and of check time.

import { type Growth, SIZES } from "./growth.ts";

/** A table of one kind of cost, a line for each framework. */
export function table(title: string, rows: Growth[], digits: number): string {
  const figure = (value: number) =>
    value.toLocaleString("en", {
      minimumFractionDigits: digits,
      maximumFractionDigits: digits,
    });
  const cells = [
    [
      "",
      "no routes",
      ...SIZES.map((size) => `each of ${size}`),
      "800 / 400",
    ],
    ...rows.map(({ framework, fixed, perRoute, factor }) => [
      framework,
      ...[fixed, ...perRoute].map(figure),
      factor.toFixed(2),
    ]),
  ];
  const lines = cells.map(([name = "", ...figures]) =>
    `  ${name.padEnd(8)}${figures.map((text) => text.padStart(14)).join("")}`
  );
  return [title, ...lines, ""].join("\n");
}
