// One request: where its time went, what it logged and published, and why it failed.

import type { JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import { api, reasonOf } from "../api.ts";
import { toCurl } from "../curl.ts";
import { bytes, clock, duration, pretty } from "../format.ts";
import { useMayAct } from "../info.ts";
import { act, ask, Code, Empty, Loading, Page, Pairs, Section, Status, Table, Tile, Tiles } from "../parts.tsx";

type Details = Awaited<ReturnType<typeof read>>;
type Part = Details["parts"][number];

const POLL = 1_000;

function read(number: number) {
  return api.get("/api/requests/{number}", { number });
}

/** The request with its tasks; while it runs, it is read again. */
function useDetails(number: number): { readonly details?: Details; readonly failure?: string } {
  const [state, setState] = useState<{ readonly details?: Details; readonly failure?: string }>({});
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | undefined;
    let isOpen = true;
    const update = async () => {
      const next = await read(number).then((details) => ({ details }), (error) => ({ failure: reasonOf(error) }));
      if (!isOpen) return;
      setState(next);
      const isRunning = "details" in next &&
        (next.details.status === null || next.details.parts.some(({ end }) => end === undefined));
      if (isRunning) timer = setTimeout(update, POLL);
    };
    void update();
    return () => {
      isOpen = false;
      clearTimeout(timer);
    };
  }, [number]);
  return state;
}

export function RequestPage({ number }: { number: number }): JSX.Element {
  const { details, failure } = useDetails(number);
  const back = ["#/requests", "Requests"] as const;
  if (failure !== undefined) {
    return (
      <Page title={`Request ${number}`} back={back}>
        <Empty>{failure}</Empty>
      </Page>
    );
  }
  if (!details) {
    return (
      <Page title={`Request ${number}`} back={back}>
        <Loading />
      </Page>
    );
  }
  const { method, url, status, time, route, who, error, issues, parts, entries, published, dropped } = details;
  return (
    <Page
      title={
        <>
          <b>{method}</b> <span class="wrap">{url}</span>
        </>
      }
      back={back}
      actions={<Actions details={details} />}
    >
      <Tiles>
        <div class="tile">
          <dt>Status</dt>
          <dd>
            <Status status={status} />
          </dd>
        </div>
        <Tile name="Duration" value={duration(details.duration)} hint={slowest(parts, details.duration)} />
        <Tile name="Time" value={clock(time)} />
        <Tile name="Route" value={route?.replace(/^\S+ /, "") ?? "none matches"} isText />
        <Tile name="Who" value={who || "–"} hint={who ? "the guard that accepted it" : "no guard"} />
      </Tiles>
      {error !== null && (
        <Section title="Error">
          <Code name="Error" text={error} />
        </Section>
      )}
      {issues.length > 0 && (
        <Section title="Invalid input">
          <Table name="Invalid input" head={["Where", "What is wrong"]}>
            {issues.map((issue, index) => (
              <tr key={index}>
                <th scope="row" class="narrow">
                  <code>{[issue.in, ...issue.path].join(".")}</code>
                </th>
                <td>{issue.message}</td>
              </tr>
            ))}
          </Table>
        </Section>
      )}
      <Section title="Where the time went">
        <Waterfall parts={parts} total={details.duration} />
      </Section>
      {published.length > 0 && (
        <Section title="Published messages">
          <Table name="Published messages" head={["After", "Topic", "Message", "Size"]}>
            {published.map(({ topic, id, at, bytes: size, failed }, index) => (
              <tr key={index}>
                <td class="narrow">{duration(at)}</td>
                <td>
                  <a href={`#/topics/${encodeURIComponent(topic)}`}>{topic}</a>
                </td>
                <td>
                  {failed
                    ? <span class="badtext">failed</span>
                    : id === undefined
                    ? "not stored yet"
                    : (
                      <a href={`#/topics/${encodeURIComponent(topic)}/${id}`}>
                        <code>{id}</code>
                      </a>
                    )}
                </td>
                <td>{bytes(size)}</td>
              </tr>
            ))}
          </Table>
        </Section>
      )}
      <Section title="Log entries">
        {entries.length === 0
          ? <Empty>This request has logged nothing.</Empty>
          : (
            <Table name="Log entries" head={["After", "Level", "Entry"]}>
              {entries.map((entry, index) => (
                <tr key={index}>
                  <td class="narrow">{duration(Math.max(0, entry.time - time))}</td>
                  <td class="narrow">
                    <span class={`level ${entry.level}`}>{entry.level}</span>
                  </td>
                  <td>
                    {entry.message}
                    <Fields json={entry.fields} />
                  </td>
                </tr>
              ))}
            </Table>
          )}
      </Section>
      {details.body !== null && (
        <Section title="Body">
          <Code name="Body" text={pretty(details.body)} />
        </Section>
      )}
      <Section title="Headers of the request">
        <Pairs name="Headers of the request" pairs={details.headers} />
      </Section>
      <Section title="Headers of the reply">
        <Pairs name="Headers of the reply" pairs={details.replyHeaders} />
      </Section>
      {dropped > 0 && <Empty>{dropped} more parts, entries or messages are not kept.</Empty>}
    </Page>
  );
}

function Actions({ details }: { details: Details }): JSX.Element | null {
  const mayAct = useMayAct();
  const copy = () =>
    act(async () => {
      await navigator.clipboard.writeText(toCurl(details, location.origin));
      return "Copied. Secrets are REDACTED: put yours there";
    });
  const send = async () => {
    const { status, duration: took, number } = await api.post("/api/requests/{number}/send", {
      number: details.number,
    });
    const text = `Sent again: ${status} in ${duration(took)}`;
    if (number === null) return `${text}. Under load, it was only counted`;
    const shown = new Promise((resolve) => addEventListener("hashchange", resolve, { once: true }));
    location.hash = `#/requests/${number}`;
    await shown;
    return text;
  };
  const isSafe = details.method === "GET" || details.method === "HEAD";
  if (!mayAct) return null;
  return (
    <>
      <button type="button" onClick={copy}>Copy as curl</button>
      <button
        type="button"
        onClick={() =>
          isSafe ? void act(send) : ask(`Send ${details.method} ${details.url} again?`, "Send again", send)}
      >
        Send again
      </button>
    </>
  );
}

function Fields({ json }: { json: string }): JSX.Element | null {
  const { request_id: _, error, ...fields } = JSON.parse(json) as Record<string, unknown>;
  const names = Object.keys(fields);
  if (names.length === 0 && error === undefined) return null;
  return (
    <>
      {names.length > 0 && (
        <code class="fields">
          {names.map((name) =>
            `${name}=${typeof fields[name] === "string" ? fields[name] : JSON.stringify(fields[name])}`
          )
            .join("  ")}
        </code>
      )}
      {typeof error === "string" && <code class="fields">{error.split("\n", 1)[0]}</code>}
    </>
  );
}

const NAMES: Readonly<Record<string, string>> = {
  precheck: "host and origin",
  validation: "input",
  model: "response model",
  reply: "making the reply",
};

/** Each part as a bar. A middleware and a mount have all that runs inside of them. */
function Waterfall({ parts, total }: { parts: readonly Part[]; total: number | null }): JSX.Element {
  const end = Math.max(total ?? 0, ...parts.map((part) => part.end ?? part.begin), 0.01);
  if (parts.length === 0) return <Empty>No part of a route ran: the request was refused before.</Empty>;
  const ticks = [0, 0.25, 0.5, 0.75, 1];
  return (
    <div class="waterfall" role="table" aria-label="Parts of the request">
      <div role="row" class="ticks">
        <span role="columnheader">Part</span>
        <span role="columnheader">Begin</span>
        <span role="columnheader" class="axis">
          {ticks.map((tick) => <i key={tick} style={{ left: `${tick * 100}%` }}>{duration(tick * end)}</i>)}
        </span>
        <span role="columnheader">Took</span>
      </div>
      {parts.map((part, index) => {
        const took = (part.end ?? end) - part.begin;
        const isAfter = total !== null && part.begin >= total;
        const title = `${part.kind} ${part.name || NAMES[part.kind] || ""}`.trim();
        return (
          <div key={index} role="row" class={part.failed ? "failed" : ""}>
            <span role="rowheader" title={title}>
              <small>{isAfter ? "after, task" : part.kind}</small> {part.name || NAMES[part.kind]}
            </span>
            <span role="cell" class="hidden">{duration(part.begin)}</span>
            <span role="cell" class="bar">
              <i
                class={part.kind}
                style={{ left: `${part.begin / end * 100}%`, width: `${Math.max(0.3, took / end * 100)}%` }}
              />
            </span>
            <span role="cell" class="took">{part.end === undefined ? "running" : duration(took)}</span>
          </div>
        );
      })}
    </div>
  );
}

/** Which part took the longest, if it matters: most ask for nothing else. */
function slowest(parts: readonly Part[], total: number | null): string {
  const inner = parts.filter(({ kind, end }) =>
    kind !== "middleware" && kind !== "mount" && kind !== "task" && end !== undefined
  );
  const longest = inner.toSorted((one, other) => (other.end! - other.begin) - (one.end! - one.begin))[0];
  if (!longest || longest.end! - longest.begin < 0.3 * (total ?? 0)) return "";
  return `most in ${longest.kind} ${longest.kind === "handler" ? "" : longest.name}`.trim();
}
