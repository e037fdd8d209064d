// Small components that several pages use.

import type { ComponentChildren, JSX } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { reasonOf } from "./api.ts";
import { Store, useStore } from "./store.ts";

type Content = { readonly children?: ComponentChildren };

/** A page with its heading, which gets the focus after a navigation. */
export function Page(
  { title, actions, back, children }: Content & {
    title: ComponentChildren;
    actions?: ComponentChildren;
    back?: readonly [href: string, label: string];
  },
): JSX.Element {
  return (
    <>
      {back && <a class="back" href={back[0]}>← {back[1]}</a>}
      <header class="page">
        <h1 tabIndex={-1}>{title}</h1>
        <div class="actions">{actions}</div>
      </header>
      {children}
    </>
  );
}

export function Section({ title, children }: Content & { title: string }): JSX.Element {
  return (
    <section>
      <h2>{title}</h2>
      {children}
    </section>
  );
}

export function Empty({ children }: Content): JSX.Element {
  return <p class="empty">{children}</p>;
}

export function Loading(): JSX.Element {
  return <p class="empty" role="status">Loading…</p>;
}

/** A status of a reply in the colour of its kind; a dot while the request runs. */
export function Status({ status }: { status: number | null }): JSX.Element {
  if (status === null) return <span class="status running">running</span>;
  return <span class={`status s${Math.floor(status / 100)}`}>{status}</span>;
}

/** A figure with its name and unit. */
export function Tile(
  { name, value, hint, isBad = false, isText = false }: {
    name: string;
    value: string;
    hint?: string;
    isBad?: boolean;
    isText?: boolean;
  },
): JSX.Element {
  return (
    <div class={`tile ${isBad ? "bad" : ""} ${isText ? "text" : ""}`}>
      <dt>{name}</dt>
      <dd>{value}{hint && <small>{hint}</small>}</dd>
    </div>
  );
}

export function Tiles({ children }: Content): JSX.Element {
  return <dl class="tiles">{children}</dl>;
}

/** Counts of the last ten minutes, without axes: the name says what it shows. */
export function Spark({ counts, name }: { counts: readonly number[]; name: string }): JSX.Element {
  const most = Math.max(1, ...counts);
  const points = counts.map((count, index) => {
    return `${(index / (counts.length - 1) * 100).toFixed(1)},${(23 - count / most * 21).toFixed(1)}`;
  });
  return (
    <svg class="spark" viewBox="0 0 100 24" preserveAspectRatio="none" role="img" aria-label={name}>
      <polyline points={points.join(" ")} />
    </svg>
  );
}

/** A table in a box that scrolls by itself where the page is narrow. */
export function Table(
  { name, head, children }: Content & { name: string; head: readonly string[] },
): JSX.Element {
  return (
    <div class="scroll" role="region" aria-label={name} tabIndex={0}>
      <table>
        <thead>
          <tr>{head.map((title) => <th key={title} scope="col">{title}</th>)}</tr>
        </thead>
        <tbody>{children}</tbody>
      </table>
    </div>
  );
}

export function Pairs(
  { name, pairs }: { name: string; pairs: readonly (readonly [string, string])[] },
): JSX.Element {
  return (
    <Table name={name} head={["Name", "Value"]}>
      {pairs.map(([name, value], index) => (
        <tr key={index}>
          <th scope="row" class="narrow">
            <code>{name}</code>
          </th>
          <td>
            <code class="wrap">{value}</code>
          </td>
        </tr>
      ))}
    </Table>
  );
}

export function Code({ name, text }: { name: string; text: string }): JSX.Element {
  return <pre role="region" aria-label={name} tabIndex={0}><code>{text}</code></pre>;
}

const notice = new Store<{ readonly text: string; readonly isBad: boolean } | undefined>(undefined);

export function notify(text: string, isBad = false): void {
  notice.set({ text, isBad });
}

export function closeNotice(): void {
  notice.set(undefined);
}

/** What became of the last action, until the next one or the next page: not all read in five seconds. */
export function Notice(): JSX.Element {
  const shown = useStore(notice);
  return (
    <div class="notices" role="status">
      {shown && (
        <p class={shown.isBad ? "bad" : ""}>
          {shown.text} <button type="button" aria-label="Close the notice" onClick={closeNotice}>×</button>
        </p>
      )}
    </div>
  );
}

interface Question {
  readonly text: string;
  readonly action: string;
  readonly run: () => Promise<string>;
}

const question = new Store<Question | undefined>(undefined);

/** Asks before it acts, and says what became of it. */
export function ask(text: string, action: string, run: () => Promise<string>): void {
  question.set({ text, action, run });
}

export async function act(run: () => Promise<string>): Promise<void> {
  closeNotice();
  try {
    notify(await run());
  } catch (error) {
    notify(reasonOf(error), true);
  }
}

export function QuestionDialog(): JSX.Element {
  const asked = useStore(question);
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    if (asked) dialog.current?.showModal();
    else dialog.current?.close();
  }, [asked]);
  const close = () => question.set(undefined);
  return (
    <dialog ref={dialog} onClose={close} aria-label="Confirm">
      {asked && (
        <>
          <p>{asked.text}</p>
          <div class="actions">
            <button type="button" onClick={close}>Cancel</button>
            <button
              type="button"
              class="primary"
              onClick={() => {
                close();
                void act(asked.run);
              }}
            >
              {asked.action}
            </button>
          </div>
        </>
      )}
    </dialog>
  );
}

/** The current time, which changes each second. */
export function useNow(): number {
  const [now, setNow] = useState(Date.now());
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), 1_000);
    return () => clearInterval(timer);
  }, []);
  return now;
}
