// The event streams of the board. Each is open while a component shows it.

import { useEffect } from "preact/hooks";
import type { Json } from "../../src/client/mod.ts";
import type { RequestPoint } from "../../src/board/statistics.ts";
import type { RequestSummary } from "../../src/board/recording.ts";
import type { RouteInfoView } from "../../src/board/route_list.ts";
import type { WorkInfo } from "../../src/board/work_view.ts";
import { api } from "./api.ts";
import { Store, useStore } from "./store.ts";

export type Request = Json<RequestSummary>;
export type Work = Json<WorkInfo>;
export type Topic = Work["topics"][number];
export type Consumer = Work["consumers"][number];
export type Cron = Work["crons"][number];
export type Route = Json<RouteInfoView>;

export interface Requests {
  /** When the node began: after a restart, requests have other numbers. */
  readonly begin: number;
  /** The newest first. */
  readonly requests: readonly Request[];
  readonly points: readonly RequestPoint[];
}

class Live<Value> {
  readonly store: Store<Value | undefined> = new Store<Value | undefined>(undefined);
  readonly #run: (signal: AbortSignal, store: Store<Value | undefined>) => Promise<void>;
  #users = 0;
  #stop: AbortController | undefined;

  constructor(run: (signal: AbortSignal, store: Store<Value | undefined>) => Promise<void>) {
    this.#run = run;
  }

  open(): () => void {
    if (this.#users++ === 0) {
      const stop = this.#stop = new AbortController();
      void this.#keepOpen(stop.signal);
    }
    return () => {
      if (--this.#users === 0) this.#stop?.abort();
    };
  }

  async #keepOpen(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      // The client comes back by itself after a lost connection, but not after a refusal.
      await this.#run(signal, this.store).catch(() => {});
      await new Promise((resolve) => setTimeout(resolve, 1_000));
    }
  }
}

const POINTS = 120;
/** Milliseconds of a point. */
const POINT = 5_000;

const requests = new Live<Requests>(async (signal, store) => {
  for await (const event of api.events("/api/requests/events", {}, { signal })) {
    if (event.gap) continue;
    const { begin, requests, oldest } = event.data;
    // Before the begin, nothing was counted.
    const points = event.data.points.filter(({ time }) => time > begin - POINT);
    const known = store.value?.begin === begin ? store.value : undefined;
    const changed = new Map(requests.map((request) => [request.number, request]));
    const kept = known?.requests.filter(({ number }) => number >= oldest && !changed.has(number)) ?? [];
    const all = [...changed.values(), ...kept].sort((one, other) => other.number - one.number);
    const newest = points[0]?.time ?? 0;
    const earlier = known?.points.filter(({ time }) => time < newest) ?? [];
    store.set({ begin, requests: all, points: [...earlier, ...points].slice(-POINTS) });
  }
});

const work = new Live<Work>(async (signal, store) => {
  for await (const event of api.events("/api/work/events", {}, { signal })) if (!event.gap) store.set(event.data);
});

const routes = new Live<readonly Route[]>(async (signal, store) => {
  for await (const event of api.events("/api/routes/events", {}, { signal })) if (!event.gap) store.set(event.data);
});

function useLive<Value>(live: Live<Value>): Value | undefined {
  useEffect(() => live.open(), [live]);
  return useStore(live.store);
}

export function useRequests(): Requests | undefined {
  return useLive(requests);
}

export function useWork(): Work | undefined {
  return useLive(work);
}

export function useRoutes(): readonly Route[] | undefined {
  return useLive(routes);
}
