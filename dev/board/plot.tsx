// A plot over time, with units on its axes and the newest values below.

import type { JSX } from "preact";
import { useEffect, useMemo, useRef } from "preact/hooks";
import uPlot from "uplot";
import { Store, useStore } from "./store.ts";

interface PlotProps {
  readonly title: string;
  /** What the values are. */
  readonly note: string;
  /** In milliseconds since 1970. */
  readonly times: readonly number[];
  readonly series: readonly PlotSeries[];
  readonly format: (value: number) => string;
  /** Possible distances of the lines. */
  readonly steps?: readonly number[];
}

/** For bytes: 1, 2, 4, … */
export const BINARY: readonly number[] = Array.from({ length: 45 }, (_, index) => 2 ** index);
/** For counts: 1, 2, 5, 10, … */
export const WHOLE: readonly number[] = Array.from(
  { length: 24 },
  (_, index) => [1, 2, 5][index % 3]! * 10 ** Math.floor(index / 3),
);

export interface PlotSeries {
  readonly name: string;
  readonly values: readonly (number | null)[];
  /** The number of its colour in the style sheet. */
  readonly colour: 1 | 2 | 3;
}

const HEIGHT = 150;
/** Ten minutes, in seconds. */
const SPAN = 600;

/** A canvas takes no `light-dark()`, which the style sheet has. */
function resolveColour(element: HTMLElement, name: string): string {
  const probe = element.appendChild(document.createElement("i"));
  probe.style.color = `var(${name})`;
  const { color } = getComputedStyle(probe);
  probe.remove();
  return color;
}

const darkness = matchMedia("(prefers-color-scheme: dark)");
const isDark = new Store(darkness.matches);
darkness.addEventListener("change", () => isDark.set(darkness.matches));

export function Plot({ title, note, times, series, format, steps }: PlotProps): JSX.Element {
  const box = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | null>(null);
  const dark = useStore(isDark);
  const names = series.map(({ name }) => name).join();
  const data = useMemo(
    () => [times.map((time) => time / 1_000), ...series.map(({ values }) => values)] as uPlot.AlignedData,
    [times, series],
  );
  useEffect(() => {
    const element = box.current!;
    const colour = (name: string) => resolveColour(element, name);
    const axis = {
      ...{ stroke: colour("--muted"), font: "12px system-ui, sans-serif", ticks: { show: false } },
      grid: { stroke: colour("--line"), width: 1 },
    };
    const made = new uPlot(
      {
        width: element.clientWidth,
        height: HEIGHT,
        legend: { show: false },
        cursor: { y: false, drag: { x: false, y: false }, points: { size: 6 } },
        scales: {
          x: { range: (_plot, _begin, end) => [end - SPAN, end] },
          y: { range: (_plot, _low, high) => [0, high > 0 ? high * 1.1 : 1] },
        },
        axes: [
          { ...axis, size: 26, space: 70, values: "{HH}:{mm}" },
          {
            ...{ ...axis, size: 62, space: 34, values: (_plot, splits) => splits.map(format) },
            ...(steps && { incrs: [...steps] }),
          },
        ],
        series: [
          {},
          ...series.map(({ name, colour: number }) => ({
            label: name,
            stroke: colour(`--plot${number}`),
            width: 1.5,
            spanGaps: false,
            points: { show: false },
          })),
        ],
      },
      data,
      element,
    );
    plot.current = made;
    const observer = new ResizeObserver(() => made.setSize({ width: element.clientWidth, height: HEIGHT }));
    observer.observe(element);
    return () => {
      observer.disconnect();
      made.destroy();
      plot.current = null;
    };
  }, [dark, names]);
  useEffect(() => plot.current?.setData(data), [data]);
  return (
    <figure class="plot">
      <figcaption>
        {title} <small>{note}</small>
        <ul>
          {series.map(({ name, values, colour }) => {
            const newest = values.findLast((value) => value !== null);
            return (
              <li key={name} class={`c${colour}`}>
                {name} <b>{newest === null || newest === undefined ? "–" : format(newest)}</b>
              </li>
            );
          })}
        </ul>
      </figcaption>
      <div ref={box} class="canvas" aria-hidden="true" />
    </figure>
  );
}
