// The topics, and the messages of one.

import type { JSX } from "preact";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { api, reasonOf } from "../api.ts";
import { ago, bytes, clock, count, duration, rate, shortId } from "../format.ts";
import { useMayAct } from "../info.ts";
import { List } from "../list.tsx";
import { type Topic, useWork } from "../live.ts";
import { Code, Empty, Loading, notify, Page, Section, Spark, Table, Tile, Tiles, useNow } from "../parts.tsx";
import { Plot, type PlotSeries } from "../plot.tsx";
import { PublishForm } from "../publish_form.tsx";

type MessagePage = Awaited<ReturnType<typeof page>>;

interface Shown {
  readonly rows: MessagePage["messages"];
  /** The id to continue before; null at the beginning of the topic. */
  readonly before: string | null;
}

function page(topic: string, where: { before?: string; id?: string; time?: string }) {
  return api.get("/api/messages", { topic, ...where });
}

export function TopicsPage(): JSX.Element {
  const work = useWork();
  const now = useNow();
  return (
    <Page title="Topics">
      {!work
        ? <Loading />
        : work.topics.length === 0
        ? <Empty>The application has no topics: declare one by app.topic(name).</Empty>
        : (
          <Table
            name="Topics"
            head={["Topic", "Rate, last 10 minutes", "Messages", "Size", "Newest", "Subscribers here", "Kept"]}
          >
            {work.topics.map((topic) => (
              <tr key={`${topic.durable} ${topic.name}`}>
                <th scope="row">
                  <a href={`#/topics/${encodeURIComponent(topic.name)}`}>{topic.name}</a>
                  {topic.failure !== null && <span class="badtext">{topic.failure}</span>}
                </th>
                <td class="whole">
                  <Spark counts={topic.rates.counts} name={`Messages of ${topic.name}`} />{" "}
                  {rate(newestRate(topic.rates))}
                </td>
                <td class="number">{count(topic.messages)}</td>
                <td class="number">{bytes(topic.bytes)}</td>
                <td>{topic.newest === null ? "none yet" : ago(topic.newest, now)}</td>
                <td class="number">{count(topic.subscribers)}</td>
                <td>{topic.durable ? "durable" : "in memory"}, {retention(topic)}</td>
              </tr>
            ))}
          </Table>
        )}
    </Page>
  );
}

export function TopicPage({ name, id }: { name: string; id: string | undefined }): JSX.Element {
  const work = useWork();
  const topic = work?.topics.find((topic) => topic.name === name);
  const mayAct = useMayAct();
  const [isPublishing, setPublishing] = useState(false);
  const back = ["#/topics", "Topics"] as const;
  const series = useMemo<readonly PlotSeries[]>(() => {
    const { counts } = topic?.rates ?? { counts: [] };
    return [{
      name: "published",
      values: counts.map((one, index) => index === counts.length - 1 ? null : one / 5),
      colour: 1,
    }];
  }, [topic]);
  const times = useMemo(() => topic ? timesOf(topic.rates) : [], [topic]);
  if (work && !topic) {
    return (
      <Page title={name} back={back}>
        <Empty>There is no such topic.</Empty>
      </Page>
    );
  }
  if (!topic) {
    return (
      <Page title={name} back={back}>
        <Loading />
      </Page>
    );
  }
  const consumers = work!.consumers.filter((consumer) => consumer.topic === name);
  return (
    <Page
      title={name}
      back={back}
      actions={mayAct && topic.isDeclared && (
        <button
          type="button"
          aria-expanded={isPublishing}
          onClick={() => setPublishing(!isPublishing)}
        >
          Publish…
        </button>
      )}
    >
      {isPublishing && <PublishForm topic={name} onDone={() => setPublishing(false)} />}
      <Tiles>
        <Tile name="Messages" value={count(topic.messages)} hint={retention(topic)} />
        <Tile name="Size" value={bytes(topic.bytes)} />
        <Tile name="Newest" value={topic.newest === null ? "none yet" : clock(topic.newest)} />
        <Tile name="Subscribers" value={count(topic.subscribers)} hint="of this node" />
        <Tile
          name="Consumers"
          value={count(consumers.length)}
          hint={consumers.map((consumer) => consumer.name).join(", ")}
        />
      </Tiles>
      <Plot title="Rate" note="messages per second" times={times} series={series} format={rate} />
      <Schema topic={name} />
      <Messages key={topic.head === null ? "" : topic.head.slice(0, 8)} topic={topic} id={id} />
    </Page>
  );
}

function Schema({ topic }: { topic: string }): JSX.Element | null {
  const [text, setText] = useState<string | undefined>(undefined);
  useEffect(() => {
    api.get("/api/schema", { topic }).then(
      ({ schema }) => setText(schema ? JSON.stringify(schema, null, 2) : undefined),
      () => {},
    );
  }, [topic]);
  return text === undefined ? null : (
    <details>
      <summary>Schema of the messages</summary>
      <Code name="Schema of the messages" text={text} />
    </details>
  );
}

/** The messages, the newest first; older ones are read when the end is reached. */
function Messages({ topic, id }: { topic: Topic; id: string | undefined }): JSX.Element {
  const [{ rows, before }, setShown] = useState<Shown>({ rows: [], before: null });
  const [isLatest, setLatest] = useState(id === undefined);
  const [failure, setFailure] = useState<string | undefined>(undefined);
  const [selected, setSelected] = useState<string | undefined>(id);
  const turn = useRef(0);
  /** Reads a page. The reply to an older call may come later, and is dropped. */
  const read = async (where: Parameters<typeof page>[1], use: (found: MessagePage) => void) => {
    const own = ++turn.current;
    const result = await page(topic.name, where).catch((error: unknown) => reasonOf(error));
    if (own !== turn.current) return;
    if (typeof result === "string") return setFailure(result);
    setFailure(undefined);
    use(result);
  };
  const show = (where: Parameters<typeof page>[1], isNewest: boolean) =>
    read(where, ({ messages, before }) => {
      setShown({ rows: messages, before });
      setLatest(isNewest);
      if (messages.length === 0 && !isNewest) setFailure("No message is there.");
    });
  /** Puts newer messages before those that are shown, so that the place in the list stays. */
  const follow = () =>
    read({}, ({ messages, before }) => {
      setShown((shown) => {
        const known = messages.findIndex(({ id }) => id === shown.rows[0]?.id);
        if (known < 0) return { rows: messages, before };
        return { rows: [...messages.slice(0, known), ...shown.rows], before: shown.before };
      });
    });
  useEffect(() => {
    if (isLatest) void follow();
  }, [topic.head]);
  useEffect(() => {
    if (id !== undefined) void show({ id }, false);
  }, [id]);
  const reading = useRef<string | null>(null);
  const more = async () => {
    if (before === null || reading.current === before) return;
    reading.current = before;
    const older = await page(topic.name, { before }).catch(() => undefined);
    reading.current = null;
    if (!older) return;
    setShown((shown) => {
      return shown.before === before ? { rows: [...shown.rows, ...older.messages], before: older.before } : shown;
    });
  };
  return (
    <Section title="Messages">
      <form
        class="filters"
        onSubmit={(event) => {
          event.preventDefault();
          const form = new FormData(event.currentTarget);
          const text = String(form.get("id") ?? "").trim();
          const time = String(form.get("time") ?? "");
          if (text !== "") {
            setSelected(text);
            void show({ id: text }, false);
          } else if (time !== "") void show({ time: new Date(time).toISOString() }, false);
          else void show({}, true);
        }}
      >
        <input name="id" aria-label="Id of a message" placeholder="Id of a message" size={36} />
        <input name="time" type="datetime-local" aria-label="From a time on" />
        <button type="submit">Go</button>
        {!isLatest && <button type="button" onClick={() => void show({}, true)}>Newest</button>}
        <span class="found" role="status">{failure ?? (isLatest ? "the newest, live" : "from a place")}</span>
      </form>
      {selected !== undefined && <Message topic={topic.name} id={selected} onClose={() => setSelected(undefined)} />}
      {rows.length === 0 ? <Empty>No messages are stored.</Empty> : (
        <List
          name="Messages"
          columns="messages"
          head={["Time", "Id", "Type", "Size", "Data"]}
          items={rows}
          keyOf={({ id }) => id}
          rowClass={({ id }) => id === selected ? "selected" : ""}
          row={({ id, time, type, bytes: size, preview }) => [
            clock(time),
            <button key="id" type="button" class="link" title={id} onClick={() => setSelected(id)}>
              {shortId(id)}
            </button>,
            type ?? "–",
            bytes(size),
            <code key="data">{preview}</code>,
          ]}
          onEnd={more}
        />
      )}
    </Section>
  );
}

/** A message as a whole. */
export function Message({ topic, id, onClose }: { topic: string; id: string; onClose?: () => void }): JSX.Element {
  const [text, setText] = useState("Loading…");
  const [time, setTime] = useState<number | undefined>(undefined);
  useEffect(() => {
    api.get("/api/message", { topic, id }).then(
      ({ data, time }) => {
        setText(JSON.stringify(data, null, 2));
        setTime(time);
      },
      (error) => setText(reasonOf(error)),
    );
  }, [topic, id]);
  const copy = () =>
    navigator.clipboard.writeText(text).then(() => notify("Copied"), (error) => notify(String(error), true));
  return (
    <div class="message">
      <div class="actions">
        <code class="wrap">{id}</code>
        {time !== undefined && <small>published at {clock(time)}</small>}
        <button type="button" onClick={copy}>Copy</button>
        {onClose && <button type="button" onClick={onClose}>Close</button>}
      </div>
      <Code name={`Message ${id}`} text={text} />
    </div>
  );
}

function retention({ retention: { age, count: most, bytes: size } }: Topic): string {
  const bounds = [
    age === null ? "" : duration(age),
    most === null ? "" : `${count(most)} messages`,
    size === null ? "" : bytes(size),
  ].filter(Boolean);
  return bounds.length === 0 ? "without a bound" : `at most ${bounds.join(", ")}`;
}

export function timesOf({ begin, counts }: Topic["rates"]): number[] {
  return counts.map((_, index) => begin + index * 5_000);
}

/** Of the last complete five seconds, in messages per second. */
export function newestRate({ counts }: Topic["rates"]): number {
  return (counts.at(-2) ?? 0) / 5;
}
