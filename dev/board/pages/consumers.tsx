// The consumers: how far behind they are, what they handle, and what they have given up.

import type { JSX } from "preact";
import { useEffect, useMemo, useState } from "preact/hooks";
import { api } from "../api.ts";
import { ago, clock, count, duration, rate, shortId } from "../format.ts";
import { useMayAct } from "../info.ts";
import { List } from "../list.tsx";
import { type Consumer, useWork } from "../live.ts";
import { act, ask, Code, Empty, Loading, Page, Section, Spark, Table, Tile, Tiles, useNow } from "../parts.tsx";
import { Plot, type PlotSeries } from "../plot.tsx";
import { Message, newestRate, timesOf } from "./topics.tsx";

type Failure = Awaited<ReturnType<typeof failuresOf>>[number];
type Action = "retry" | "discard" | "pause" | "resume" | "redrive";

/** So many are read again with each reading: one may have failed again. */
const FEW = 200;

function failuresOf(topic: string, consumer: string) {
  return api.get("/api/failures", { topic, consumer });
}

export function ConsumersPage(): JSX.Element {
  const work = useWork();
  return (
    <Page title="Consumers">
      {!work
        ? <Loading />
        : work.consumers.length === 0
        ? <Empty>No consumer has run: declare one by topic.consume(name, handler).</Empty>
        : (
          <Table
            name="Consumers"
            head={[
              "Consumer",
              "State",
              "Failures",
              "Lag",
              "In flight",
              "Handled, last 10 minutes",
              "Lost",
              "Last error",
            ]}
          >
            {work.consumers.map((consumer) => (
              <tr key={`${consumer.durable} ${consumer.topic}/${consumer.name}`}>
                <th scope="row">
                  <a href={hrefOf(consumer)}>{consumer.topic}/{consumer.name}</a>
                </th>
                <td>
                  <State consumer={consumer} />
                </td>
                <td class={consumer.failures > 0 ? "number badtext" : "number"}>{count(consumer.failures)}</td>
                <td class="number">{duration(consumer.lag)}</td>
                <td class="number">{count(consumer.inFlightCount)}</td>
                <td class="whole">
                  <Spark counts={consumer.handled.counts} name={`Messages that ${consumer.name} handled`} />{" "}
                  {rate(newestRate(consumer.handled))}
                </td>
                <td class="number">{count(consumer.lost)}</td>
                <td class="cut" title={consumer.lastError ?? undefined}>{consumer.lastError ?? "–"}</td>
              </tr>
            ))}
          </Table>
        )}
    </Page>
  );
}

/** What needs attention first. */
function State({ consumer: { paused, failures, lag, isDeclared } }: { consumer: Consumer }): JSX.Element {
  if (paused !== null) return <span class="state paused">paused</span>;
  if (failures > 0) return <span class="state bad">failures</span>;
  if (lag > 60_000) return <span class="state warn">behind</span>;
  return <span class="state good">{isDeclared ? "running" : "not here"}</span>;
}

export function ConsumerPage({ topic, name }: { topic: string; name: string }): JSX.Element {
  const work = useWork();
  const now = useNow();
  const consumer = work?.consumers.find((one) => one.topic === topic && one.name === name);
  const back = ["#/consumers", "Consumers"] as const;
  const lags = useMemo<readonly PlotSeries[]>(() => {
    return [{ name: "lag", values: consumer?.lags.map(({ lag }) => lag) ?? [], colour: 3 }];
  }, [consumer]);
  const lagTimes = useMemo(() => consumer?.lags.map(({ time }) => time) ?? [], [consumer]);
  const rates = useMemo<readonly PlotSeries[]>(() => {
    const { counts } = consumer?.handled ?? { counts: [] };
    return [{
      name: "handled",
      values: counts.map((one, index) => index === counts.length - 1 ? null : one / 5),
      colour: 1,
    }];
  }, [consumer]);
  const rateTimes = useMemo(() => consumer ? timesOf(consumer.handled) : [], [consumer]);
  const title = `${topic}/${name}`;
  if (work && !consumer) {
    return (
      <Page title={title} back={back}>
        <Empty>There is no such consumer.</Empty>
      </Page>
    );
  }
  if (!consumer) {
    return (
      <Page title={title} back={back}>
        <Loading />
      </Page>
    );
  }
  const { lag, inFlight, inFlightCount, failures, lost, lastError, deadLetter, attempts, paused } = consumer;
  return (
    <Page title={title} back={back} actions={<ConsumerActions consumer={consumer} />}>
      <Tiles>
        <Tile name="Lag" value={duration(lag)} hint="age of the oldest message that is not done" isBad={lag > 60_000} />
        <Tile name="In flight" value={count(inFlightCount)} />
        <Tile name="Failures" value={count(failures)} hint="given up, kept to retry" isBad={failures > 0} />
        <Tile name="Lost" value={count(lost)} hint="removed before they were handled" isBad={lost > 0} />
        <div class="tile">
          <dt>Dead letters to</dt>
          <dd>
            {deadLetter === null ? "no topic" : <a href={`#/topics/${encodeURIComponent(deadLetter)}`}>{deadLetter}</a>}
          </dd>
        </div>
        <Tile
          name="State"
          value={paused === null ? "running" : "paused"}
          hint={paused === null ? "" : `since ${clock(paused)}`}
        />
      </Tiles>
      {lastError !== null && (
        <Section title="Last error">
          <Code name="Last error" text={lastError} />
        </Section>
      )}
      {failures > 0 && <Failures consumer={consumer} />}
      <div class="plots">
        <Plot title="Lag" note="age of the oldest message not done" times={lagTimes} series={lags} format={duration} />
        <Plot title="Handled" note="messages per second" times={rateTimes} series={rates} format={rate} />
      </div>
      <Section title="In flight">
        {inFlight.length === 0
          ? <Empty>No message is in flight.</Empty>
          : (
            <Table name="In flight" head={["Message", "Node", "Since", "Try"]}>
              {inFlight.map(({ id, node, since, attempt }) => (
                <tr key={`${id} ${attempt}`}>
                  <td>
                    <a href={`#/topics/${encodeURIComponent(topic)}/${id}`}>
                      <code>{id}</code>
                    </a>
                  </td>
                  <td>
                    <code>{node}</code>
                  </td>
                  <td>{ago(since, now)}</td>
                  <td>{attempt}{attempts !== null && ` of ${attempts}`}</td>
                </tr>
              ))}
            </Table>
          )}
      </Section>
      {failures === 0 && <Failures consumer={consumer} />}
    </Page>
  );
}

function change({ topic, name }: Consumer, action: Action, id?: string): () => Promise<string> {
  return async () => {
    const body = { topic, consumer: name, ...(id !== undefined && { id }) };
    return (await api.post("/api/consumers/{action}", { action, body })).message;
  };
}

function ConsumerActions({ consumer }: { consumer: Consumer }): JSX.Element | null {
  const mayAct = useMayAct();
  if (!mayAct) return null;
  const { paused, deadLetter, topic, name } = consumer;
  const path = `${topic}/${name}`;
  return (
    <>
      {paused === null
        ? (
          <button
            type="button"
            onClick={() =>
              ask(`Pause ${path} on all nodes? Messages wait until it is resumed.`, "Pause", change(consumer, "pause"))}
          >
            Pause
          </button>
        )
        : <button type="button" class="primary" onClick={() => void act(change(consumer, "resume"))}>Resume</button>}
      {deadLetter !== null && (
        <button
          type="button"
          onClick={() =>
            ask(
              `Deliver the dead letters in ${deadLetter} to ${path} again, each once?`,
              "Redrive",
              change(consumer, "redrive"),
            )}
        >
          Redrive dead letters
        </button>
      )}
    </>
  );
}

/** What was given up and is kept, the newest first. */
function Failures({ consumer }: { consumer: Consumer }): JSX.Element {
  const { topic, name, failures: number } = consumer;
  const mayAct = useMayAct();
  const [failures, setFailures] = useState<readonly Failure[]>([]);
  const [open, setOpen] = useState<string | undefined>(undefined);
  useEffect(() => {
    failuresOf(topic, name).then(setFailures, () => {});
  }, [topic, name, number > FEW ? number : consumer]);
  const opened = failures.find(({ id }) => id === open);
  return (
    <Section title={`Failures (${count(failures.length)})`}>
      {failures.length === 0 ? <Empty>No message was given up.</Empty> : (
        <>
          {mayAct && (
            <div class="actions">
              <button
                type="button"
                onClick={() =>
                  ask(
                    `Deliver all ${count(failures.length)} failed messages again?`,
                    "Retry all",
                    change(consumer, "retry"),
                  )}
              >
                Retry all
              </button>
              <button
                type="button"
                onClick={() =>
                  ask(
                    `Discard all ${count(failures.length)} failed messages for good?`,
                    "Discard all",
                    change(consumer, "discard"),
                  )}
              >
                Discard all
              </button>
            </div>
          )}
          {opened && (
            <div class="card">
              <h3>{opened.error}</h3>
              <p>
                {opened.attempts === 1 ? "1 try" : `${opened.attempts} tries`}
                {opened.time !== null && `, given up at ${clock(opened.time)}`}
              </p>
              <Message topic={topic} id={opened.id} onClose={() => setOpen(undefined)} />
              {mayAct && (
                <div class="actions">
                  <button type="button" class="primary" onClick={() => void act(change(consumer, "retry", opened.id))}>
                    Retry
                  </button>
                  <button
                    type="button"
                    onClick={() =>
                      ask(`Discard ${opened.id} for good?`, "Discard", change(consumer, "discard", opened.id))}
                  >
                    Discard
                  </button>
                </div>
              )}
            </div>
          )}
          <List
            name="Failures"
            columns="failures"
            head={["Message", "Tries", "Error"]}
            items={failures}
            keyOf={({ id }) => id}
            rowClass={({ id }) => id === open ? "selected" : ""}
            row={({ id, attempts, error }) => [
              <button key="id" type="button" class="link" title={id} onClick={() => setOpen(id)}>{shortId(id)}</button>,
              String(attempts),
              error,
            ]}
          />
        </>
      )}
    </Section>
  );
}

function hrefOf({ topic, name }: Consumer): string {
  return `#/consumers/${encodeURIComponent(topic)}/${encodeURIComponent(name)}`;
}
