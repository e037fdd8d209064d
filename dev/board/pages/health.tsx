// The nodes, the store and this process.

import type { JSX } from "preact";
import { useMemo } from "preact/hooks";
import { ago, bytes, clock, count, duration } from "../format.ts";
import { useRequests, useWork } from "../live.ts";
import { Code, Loading, Page, Section, Table, Tile, Tiles, useNow } from "../parts.tsx";
import { BINARY, Plot, type PlotSeries, WHOLE } from "../plot.tsx";

export function HealthPage(): JSX.Element {
  const work = useWork();
  const requests = useRequests();
  const now = useNow();
  const points = work?.health.points ?? [];
  const times = useMemo(() => points.map(({ time }) => time), [work]);
  const delays = useMemo<readonly PlotSeries[]>(() => [
    { name: "event loop", values: points.map(({ loop }) => loop), colour: 1 },
    { name: "store", values: points.map(({ store }) => store), colour: 3 },
  ], [work]);
  const memory = useMemo<readonly PlotSeries[]>(() => {
    return [{ name: "memory", values: points.map(({ memory }) => memory), colour: 1 }];
  }, [work]);
  const limitedTimes = useMemo(() => requests?.points.map(({ time }) => time) ?? [], [requests]);
  const limited = useMemo<readonly PlotSeries[]>(() => {
    return [{ name: "429", values: requests?.points.map(({ limited }) => limited) ?? [], colour: 2 }];
  }, [requests]);
  if (!work) {
    return (
      <Page title="Health">
        <Loading />
      </Page>
    );
  }
  const { nodes, streams, sockets, memory: used, store } = work.health;
  const last = points.at(-1);
  const refused = requests?.points.reduce((sum, { limited }) => sum + limited, 0) ?? 0;
  return (
    <Page title="Health">
      {store.failure !== null && (
        <Section title="The store does not answer">
          <Code name="Error" text={store.failure} />
        </Section>
      )}
      <Tiles>
        <Tile
          name="Store"
          value={store.failure !== null ? "fails" : store.durable ? duration(last?.store ?? null) : "in memory"}
          hint={store.durable ? "one read" : "no durable topic is used"}
          isBad={store.failure !== null}
        />
        <Tile
          name="Event loop"
          value={duration(last?.loop ?? null)}
          hint="longest delay since the last reading"
          isBad={(last?.loop ?? 0) > 200}
        />
        <Tile name="Memory" value={bytes(used.total)} hint={`${bytes(used.heap)} of it in the heap`} />
        <Tile name="Streams" value={count(streams)} hint="open, with those of this page" />
        <Tile name="WebSockets" value={count(sockets)} hint="open" />
        <Tile name="Replies of 429" value={count(refused)} hint="in the last 10 minutes" isBad={refused > 0} />
      </Tiles>
      <Section title="Nodes that share the store">
        <Table name="Nodes" head={["Node", "Version", "Since", "Last sign"]}>
          {nodes.map(({ name, version, since, sign, isSilent, isThis }) => (
            <tr key={`${name} ${since}`}>
              <th scope="row">{name} {isThis && <span class="badge">this one</span>}</th>
              <td>{version}</td>
              <td>{clock(since)}</td>
              <td>
                {isSilent ? <span class="badtext">silent, {ago(sign, now)}</span> : isThis ? "now" : ago(sign, now)}
              </td>
            </tr>
          ))}
        </Table>
      </Section>
      <div class="plots">
        <Plot title="Delays" note="event loop and store" times={times} series={delays} format={duration} />
        <Plot title="Memory" note="of the process" times={times} series={memory} format={bytes} steps={BINARY} />
        <Plot
          title="Refused by limits"
          note="replies of 429 in 5 s"
          times={limitedTimes}
          series={limited}
          format={count}
          steps={WHOLE}
        />
      </div>
    </Page>
  );
}
