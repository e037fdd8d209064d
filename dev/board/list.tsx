// A long list, of which only the visible rows are in the page.

import type { ComponentChildren, JSX } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";

/** Rows above and below the visible ones. */
const MARGIN = 8;

interface ListProps<Item> {
  readonly name: string;
  readonly head: readonly string[];
  /** The class with the columns, in the style sheet. */
  readonly columns: string;
  readonly items: readonly Item[];
  readonly keyOf: (item: Item) => string | number;
  readonly row: (item: Item) => readonly ComponentChildren[];
  readonly rowClass?: (item: Item) => string;
  /** Called when the end becomes visible. */
  readonly onEnd?: () => void;
}

/** The height of a row, as in the style sheet. */
const ROW = 36;

export function List<Item>(
  { name, head, columns, items, keyOf, row, rowClass, onEnd }: ListProps<Item>,
): JSX.Element {
  const box = useRef<HTMLDivElement>(null);
  const [place, setPlace] = useState({ top: 0, height: 600 });
  useEffect(() => {
    const element = box.current!;
    const update = () => setPlace({ top: element.scrollTop, height: element.clientHeight });
    update();
    element.addEventListener("scroll", update, { passive: true });
    const observer = new ResizeObserver(update);
    observer.observe(element);
    return () => {
      element.removeEventListener("scroll", update);
      observer.disconnect();
    };
  }, []);
  const first = Math.max(0, Math.floor(place.top / ROW) - MARGIN);
  const last = Math.min(items.length, Math.ceil((place.top + place.height) / ROW) + MARGIN);
  useEffect(() => {
    if (last >= items.length) onEnd?.();
  }, [last, items.length]);
  return (
    <div
      ref={box}
      class={`list ${columns}`}
      role="table"
      aria-label={name}
      aria-rowcount={items.length + 1}
      tabIndex={0}
    >
      <div role="rowgroup" class="listhead">
        <div role="row" aria-rowindex={1}>
          {head.map((title) => <span key={title} role="columnheader">{title}</span>)}
        </div>
      </div>
      <div role="rowgroup" class="rows">
        <div role="presentation" style={{ height: `${first * ROW}px` }} />
        {items.slice(first, last).map((item, index) => (
          <div
            key={keyOf(item)}
            role="row"
            aria-rowindex={first + index + 2}
            class={rowClass?.(item) ?? ""}
          >
            {row(item).map((cell, column) => <span key={column} role="cell">{cell}</span>)}
          </div>
        ))}
        <div role="presentation" style={{ height: `${(items.length - last) * ROW}px` }} />
      </div>
    </div>
  );
}
