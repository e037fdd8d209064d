// The routes of the application, and how they do since the start of this node.

import type { JSX } from "preact";
import { useMemo, useState } from "preact/hooks";
import { count, duration } from "../format.ts";
import { type Route, useRoutes } from "../live.ts";
import { Empty, Loading, Page, Table } from "../parts.tsx";

const ORDERS = {
  path: { title: "By path", key: ({ path }: Route) => path },
  calls: { title: "Most calls first", key: ({ calls }: Route) => -calls },
  errors: { title: "Most errors first", key: ({ errors, refusals }: Route) => -errors * 1e9 - refusals },
  p99: { title: "Slowest first", key: ({ p99 }: Route) => -(p99 ?? 0) },
} as const;

export function RoutesPage(): JSX.Element {
  const routes = useRoutes();
  const [text, setText] = useState("");
  const [order, setOrder] = useState<keyof typeof ORDERS>("path");
  const found = useMemo(() => {
    const { key } = ORDERS[order];
    const wanted = text.toLowerCase();
    return (routes ?? []).filter(({ method, path }) => `${method} ${path}`.toLowerCase().includes(wanted))
      .toSorted((one, other) => key(one) < key(other) ? -1 : key(one) > key(other) ? 1 : 0);
  }, [routes, text, order]);
  return (
    <Page title="Routes">
      <form class="filters" role="search" onSubmit={(event) => event.preventDefault()}>
        <input
          type="search"
          aria-label="Text in method or path"
          placeholder="Text in method or path"
          value={text}
          onInput={({ currentTarget }) => setText(currentTarget.value)}
        />
        <select
          aria-label="Order"
          onChange={({ currentTarget }) => setOrder(currentTarget.value as keyof typeof ORDERS)}
        >
          {Object.entries(ORDERS).map(([name, { title }]) => (
            <option key={name} value={name} selected={name === order}>{title}</option>
          ))}
        </select>
        <span class="found" role="status">{routes && `${found.length} of ${routes.length}`}</span>
      </form>
      {!routes ? <Loading /> : found.length === 0 ? <Empty>No route matches.</Empty> : (
        <Table
          name="Routes"
          head={["Route", "Calls", "4xx", "5xx", "p50", "p99", "Guards and scopes", "Limits", "Models"]}
        >
          {found.map((route) => <RouteRow key={`${route.method} ${route.path}`} route={route} />)}
        </Table>
      )}
    </Page>
  );
}

function RouteRow({ route }: { route: Route }): JSX.Element {
  const { method, path, calls, errors, refusals, p50, p99, guards, scopes, limits, models, summary, docs } = route;
  const link = docs
    ? `${docs}#/${encodeURIComponent(route.tag ?? "default")}/${encodeURIComponent(route.operationId)}`
    : undefined;
  return (
    <tr>
      <th scope="row" title={summary ?? undefined}>
        <b>{method}</b> {link ? <a href={link}>{path || "/"}</a> : path || "/"}
      </th>
      <td class="number">{count(calls)}</td>
      <td class="number">{count(refusals)}</td>
      <td class={errors > 0 ? "number badtext" : "number"}>{count(errors)}</td>
      <td class="number">{duration(p50)}</td>
      <td class="number">{duration(p99)}</td>
      <td>{[guards.join(", "), scopes.join(" ")].filter(Boolean).join(": ") || "–"}</td>
      <td class="whole">
        {limits.map(({ limit, per }) => `${count(limit)} per ${duration(per)}`).join(", ") || "–"}
      </td>
      <td>{models.join(", ") || "–"}</td>
    </tr>
  );
}
