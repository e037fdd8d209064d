// The requests of this node, live.

import type { JSX } from "preact";
import { useMemo, useState } from "preact/hooks";
import { clock, duration, rate } from "../format.ts";
import { List } from "../list.tsx";
import { type Request, type Requests, useRequests } from "../live.ts";
import { Empty, Loading, Page, Status } from "../parts.tsx";
import { Plot, type PlotSeries } from "../plot.tsx";

interface Filter {
  readonly text: string;
  readonly route: string;
  readonly status: string;
  readonly slower: number;
}

const ANY: Filter = { text: "", route: "", status: "", slower: 0 };

const STATUSES = [
  ["", "Any status"],
  ["2", "2xx success"],
  ["3", "3xx redirect"],
  ["4", "4xx refused"],
  ["5", "5xx failed"],
  ["running", "Running"],
] as const;

const DURATIONS = [0, 10, 100, 500, 1_000, 5_000] as const;

/** Kept while another page is shown. */
let lastFilter = ANY;

export function RequestsPage(): JSX.Element {
  const live = useRequests();
  const [paused, setPaused] = useState<Requests | undefined>(undefined);
  const [filter, setFilter] = useState(lastFilter);
  const change = (changed: Partial<Filter>) => setFilter(lastFilter = { ...filter, ...changed });
  const shown = paused ?? live;
  const routes = useMemo(() => {
    return [...new Set(shown?.requests.flatMap(({ route }) => route ?? []))].sort();
  }, [shown]);
  const found = useMemo(() => shown?.requests.filter((request) => matches(request, filter)) ?? [], [shown, filter]);
  const isFiltered = JSON.stringify(filter) !== JSON.stringify(ANY);
  const missed = paused && live ? live.requests.filter(({ number }) => number > newestOf(paused)).length : 0;
  return (
    <Page
      title="Requests"
      actions={
        <button
          type="button"
          aria-pressed={paused !== undefined}
          onClick={() => setPaused(paused ? undefined : live)}
        >
          {paused ? `Resume (${missed} new)` : "Pause"}
        </button>
      }
    >
      {live && <RequestPlots points={live.points} />}
      <form class="filters" role="search" onSubmit={(event) => event.preventDefault()}>
        <input
          type="search"
          aria-label="Text in the path"
          placeholder="Text in the path"
          value={filter.text}
          onInput={({ currentTarget }) => change({ text: currentTarget.value })}
        />
        <select aria-label="Route" onChange={({ currentTarget }) => change({ route: currentTarget.value })}>
          <option value="">Any route</option>
          {routes.map((route) => <option key={route} value={route} selected={route === filter.route}>{route}</option>)}
        </select>
        <select aria-label="Status" onChange={({ currentTarget }) => change({ status: currentTarget.value })}>
          {STATUSES.map(([value, title]) => (
            <option key={value} value={value} selected={value === filter.status}>{title}</option>
          ))}
        </select>
        <select aria-label="Duration" onChange={({ currentTarget }) => change({ slower: Number(currentTarget.value) })}>
          {DURATIONS.map((ms) => (
            <option key={ms} value={ms} selected={ms === filter.slower}>
              {ms === 0 ? "Any duration" : `Slower than ${duration(ms)}`}
            </option>
          ))}
        </select>
        {isFiltered && <button type="button" onClick={() => change(ANY)}>Clear</button>}
        <span class="found" role="status">{shown && `${found.length} of ${shown.requests.length}`}</span>
      </form>
      {!shown ? <Loading /> : found.length === 0
        ? (
          <Empty>
            {isFiltered ? "No request matches the filters." : "No requests yet: send one to the application."}
          </Empty>
        )
        : (
          <List
            name="Requests"
            columns="requests"
            head={["Time", "Method", "Path", "Route", "Who", "Status", "Duration"]}
            items={found}
            keyOf={({ number }) => number}
            rowClass={({ status }) => status !== null && status >= 500 ? "failed" : ""}
            row={(request) => [
              clock(request.time),
              <b key="method">{request.method}</b>,
              <a key="path" href={`#/requests/${request.number}`} title={request.url}>{request.url}</a>,
              request.route === null
                ? <i key="route">no route</i>
                : request.route.slice(request.method.length + 1) || request.route,
              request.who || "–",
              <Status key="status" status={request.status} />,
              <span key="duration" class={isSlow(request) ? "slow" : ""}>{duration(request.duration)}</span>,
            ]}
          />
        )}
    </Page>
  );
}

export function RequestPlots({ points }: { readonly points: Requests["points"] }): JSX.Element {
  const times = useMemo(() => points.map(({ time }) => time), [points]);
  const rates = useMemo<readonly PlotSeries[]>(() => {
    // The newest point is not complete.
    const values = points.map(({ requests }, index) => index === points.length - 1 ? null : requests / 5);
    const errors = points.map(({ errors }, index) => index === points.length - 1 ? null : errors / 5);
    return [{ name: "all", values, colour: 1 }, { name: "5xx", values: errors, colour: 2 }];
  }, [points]);
  const durations = useMemo<readonly PlotSeries[]>(() => [
    { name: "p50", values: points.map(({ p50 }) => p50), colour: 1 },
    { name: "p99", values: points.map(({ p99 }) => p99), colour: 3 },
  ], [points]);
  return (
    <div class="plots">
      <Plot title="Rate" note="requests per second" times={times} series={rates} format={rate} />
      <Plot title="Duration" note="median and 99th percentile" times={times} series={durations} format={duration} />
    </div>
  );
}

function matches({ url, route, status, duration }: Request, filter: Filter): boolean {
  if (filter.text !== "" && !url.toLowerCase().includes(filter.text.toLowerCase())) return false;
  if (filter.route !== "" && route !== filter.route) return false;
  if (filter.status === "running" && status !== null) return false;
  if (/^\d$/.test(filter.status) && Math.floor((status ?? 0) / 100) !== Number(filter.status)) return false;
  return (duration ?? Infinity) >= filter.slower;
}

function isSlow({ duration }: Request): boolean {
  return duration !== null && duration >= 500;
}

function newestOf({ requests }: Requests): number {
  return requests[0]?.number ?? 0;
}
