/** What the board shows of each route. */
import type { ShownApp } from "../app/board_host.ts";
import { guardsOf } from "../binding/levels.ts";
import type { AppHandle } from "../http/app_handle.ts";
import { isDocumented } from "../routing/registry.ts";
import { MountRoute } from "../routing/mount.ts";
import { type Access, accessOf } from "../routing/scope.ts";
import type { Recorder } from "./recorder.ts";

export interface RouteInfoView extends Access {
  readonly method: string;
  readonly path: string;
  readonly operationId: string;
  /** The documentation page that has it, from the root of the host. */
  readonly docs: string | null;
  readonly tag: string | null;
  readonly summary: string | null;
  /** The scopes that the guards need. */
  readonly scopes: readonly string[];
  /** The parts of the input that have a model, and `response`. */
  readonly models: readonly string[];
  readonly calls: number;
  readonly errors: number;
  readonly refusals: number;
  /** In milliseconds. */
  readonly p50: number | null;
  readonly p99: number | null;
}

const INPUTS = ["params", "query", "headers", "cookies", "body", "form", "receive", "send", "response"] as const;

export function routeList({ app, prefix, mounts, routes }: ShownApp, recorder: Recorder): RouteInfoView[] {
  const around = mounts.flatMap(({ levels }) => levels);
  return routes.map((route) => {
    const { method, operationId, options } = route;
    const levels = [...around, ...route.levels];
    const securities = guardsOf(levels).flat().flatMap(({ security }) => security);
    const statistics = recorder.statisticsOf(route);
    return {
      ...{ method, path: prefix + route.path, operationId },
      docs: isDocumented(route) && !(route instanceof MountRoute) ? docsOf(app, prefix) : null,
      tag: options.tags?.[0] ?? null,
      summary: options.summary ?? null,
      ...accessOf(levels),
      scopes: [...new Set(securities.flatMap(scopesOf))],
      models: INPUTS.filter((name) => options[name] !== undefined),
      calls: statistics?.calls ?? 0,
      errors: statistics?.errors ?? 0,
      refusals: statistics?.refusals ?? 0,
      p50: statistics?.durations.quantile(0.5) ?? null,
      p99: statistics?.durations.quantile(0.99) ?? null,
    };
  });
}

function docsOf({ basePath, docsUrl }: AppHandle, prefix: string): string | null {
  return docsUrl === null ? null : basePath + prefix + docsUrl;
}

function scopesOf(way: ReadonlyMap<string, { readonly scopes: readonly string[] }>): readonly string[] {
  return [...way.values()].flatMap(({ scopes }) => scopes);
}
