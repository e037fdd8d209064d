/** What the board shows of topics, consumers, crons, nodes and the process, while it is watched. */
import { errorText } from "../log/log_text.ts";
import { streamProgress } from "../http/open_streams.ts";
import type { BoardTarget, ShownApp } from "../app/board_host.ts";
import { Models } from "../describe/json_schema/models.ts";
import type { JsonSchema } from "../schema/json_schema.ts";
import { toId, toPosition } from "../topics/message.ts";
import type { CronReport } from "../topics/topic_report.ts";
import type { LogRef, TopicStore } from "../store/topic_store.ts";
import type { RecordStore } from "../store/record_store.ts";
import type { Failure } from "../work/consumers/failures.ts";
import { consumerKey, decodeState, failureKey, HELD } from "../work/consumers/record.ts";
import { reportConsumers } from "../work/operate.ts";
import type { Nodes, NodeView } from "./nodes.ts";
import { POINT } from "./statistics.ts";
import { type Rates, ratesOf, TopicView } from "./topic_view.ts";

/** Between two readings, in milliseconds. */
const INTERVAL = 2_000;
/** Readings take at most this part of the time: a large store must not suffer from its board. */
const MOST_BUSY = 1 / 5;
const MAX_IN_FLIGHT = 100;
/** How far a position is followed to count what was handled. */
const MAX_COUNTED = 2_000;
const UPCOMING = 5;
const LOOP_INTERVAL = 100;

export interface TopicInfo {
  readonly name: string;
  readonly durable: boolean;
  readonly messages: number;
  readonly bytes: number;
  /** The newest message. */
  readonly head: string | null;
  readonly newest: number | null;
  /** Of this node. */
  readonly subscribers: number;
  readonly retention: { readonly age: number | null; readonly count: number | null; readonly bytes: number | null };
  readonly isDeclared: boolean;
  readonly rates: Rates;
  readonly failure: string | null;
}

export interface InFlight {
  readonly id: string;
  readonly node: string;
  readonly attempt: number;
  /** When the board first saw it there. */
  readonly since: number;
}

export interface ConsumerInfo {
  readonly topic: string;
  readonly name: string;
  readonly durable: boolean;
  readonly isDeclared: boolean;
  readonly position: string;
  /** In milliseconds. */
  readonly lag: number;
  readonly inFlightCount: number;
  readonly inFlight: readonly InFlight[];
  readonly failures: number;
  readonly lost: number;
  readonly lastError: string | null;
  readonly deadLetter: string | null;
  readonly attempts: number | null;
  readonly paused: number | null;
  readonly handled: Rates;
  /** In milliseconds, one for each reading of the last ten minutes. */
  readonly lags: readonly { readonly time: number; readonly lag: number }[];
}

export interface CronInfo {
  readonly name: string;
  readonly schedule: string;
  readonly timeZone: string;
  readonly next: readonly number[];
  readonly running: { readonly scheduled: number; readonly began: number } | null;
  readonly recent: readonly {
    readonly scheduled: number;
    readonly began: number;
    readonly ended: number;
    readonly error: string | null;
  }[];
  readonly runs: number;
  readonly failures: number;
  readonly skipped: number;
}

export interface HealthPoint {
  readonly time: number;
  /** In milliseconds; null if the store did not answer. */
  readonly store: number | null;
  /** The longest delay of the event loop since the last point, in milliseconds. */
  readonly loop: number;
  /** In bytes. */
  readonly memory: number;
}

export interface HealthInfo {
  readonly nodes: readonly NodeView[];
  readonly streams: number;
  readonly sockets: number;
  readonly memory: { readonly total: number; readonly heap: number };
  readonly store: { readonly durable: boolean; readonly failure: string | null };
  readonly points: readonly HealthPoint[];
}

export interface WorkInfo {
  readonly time: number;
  readonly topics: readonly TopicInfo[];
  readonly consumers: readonly ConsumerInfo[];
  readonly crons: readonly CronInfo[];
  readonly health: HealthInfo;
}

export interface FailureRow {
  readonly id: string;
  /** Null if it is not known. */
  readonly time: number | null;
  readonly error: string;
  readonly attempts: number;
}

/** One of the stores of an application. */
interface Source {
  readonly shown: ShownApp;
  readonly store: TopicStore;
  readonly isDurable: boolean;
  readonly logs: readonly LogRef[];
}

interface ConsumerHistory {
  readonly handled: Map<number, number>;
  readonly lags: { time: number; lag: number }[];
  readonly seen: Map<string, number>;
  position: string;
}

/** Reads the stores while a page is open, for all pages together. */
export class WorkView {
  readonly #target: BoardTarget;
  readonly #nodes: Nodes;
  readonly #views = new Map<string, TopicView>();
  readonly #histories = new Map<string, ConsumerHistory>();
  readonly #health: HealthPoint[] = [];
  readonly #schemas = new Map<string, JsonSchema | undefined>();
  #latest: WorkInfo | undefined;
  #watchers = 0;
  #reading: Promise<WorkInfo> | undefined;
  #readAt = -Infinity;
  #pause = INTERVAL;
  /** Ends the pauses of all watchers. */
  #expiry = new AbortController();
  #loopTimer: ReturnType<typeof setInterval> | undefined;
  #worstLoop = 0;

  constructor(target: BoardTarget, nodes: Nodes) {
    this.#target = target;
    this.#nodes = nodes;
  }

  /** Yields a reading each time, until the signal aborts. */
  async *watch(signal: AbortSignal): AsyncGenerator<WorkInfo, void, void> {
    if (this.#watchers++ === 0) this.#watchLoop();
    try {
      while (!signal.aborted) {
        yield await this.read();
        const until = AbortSignal.any([signal, this.#expiry.signal]);
        await pause(Math.max(0, this.#readAt + this.#pause - performance.now()), until);
      }
    } finally {
      if (--this.#watchers === 0) clearInterval(this.#loopTimer);
    }
  }

  /** A reading that is not older than the pause between two. */
  async read(): Promise<WorkInfo> {
    if (this.#latest && performance.now() - this.#readAt < this.#pause) return this.#latest;
    this.#reading ??= this.#readNow().finally(() => this.#reading = undefined);
    return await this.#reading;
  }

  /** After an action, the next reading is at once. */
  expire(): void {
    this.#readAt = -Infinity;
    this.#expiry.abort();
    this.#expiry = new AbortController();
  }

  close(): void {
    clearInterval(this.#loopTimer);
  }

  /** Undefined if there is no such topic. */
  async topic(name: string): Promise<{ readonly view: TopicView; readonly store: TopicStore } | undefined> {
    for (const { shown, store, logs } of await this.#sources()) {
      const log = logs.find((log) => placedName(shown, log.name) === name);
      if (!log) continue;
      const view = this.#viewOf(shown, log, store);
      await view.update(store, now(store));
      return { view, store };
    }
    return undefined;
  }

  /** The application that a name of a topic or a cron begins with, and the name there. */
  find(name: string): { readonly shown: ShownApp; readonly own: string } {
    const { apps } = this.#target;
    const shown = apps.find((app) => app.at !== "" && name.startsWith(placedName(app, ""))) ?? apps[0]!;
    return { shown, own: name.slice(placedName(shown, "").length) };
  }

  /** The name of a topic with the place of the first application that declares it. */
  placeOf(topic: string): string {
    const { apps } = this.#target;
    const shown = apps.find(({ topics }) => topics.declared.some(({ name }) => name === topic)) ?? apps[0]!;
    return placedName(shown, topic);
  }

  /** The JSON Schema of the messages of a declared topic; undefined if there is none. */
  schemaOf(name: string): JsonSchema | undefined {
    if (this.#schemas.has(name)) return this.#schemas.get(name);
    const { shown, own } = this.find(name);
    const schema = shown.topics.declared.find((topic) => topic.name === own)?.options.schema;
    let json: JsonSchema | undefined;
    try {
      const models = new Models("#/$defs/");
      const root = schema && models.jsonInput(schema);
      const definitions = models.definitions();
      json = root && (Object.keys(definitions).length === 0 ? root : { ...root, $defs: definitions });
    } catch {
      // JSON Schema cannot express it: messages are published as JSON.
    }
    this.#schemas.set(name, json);
    return json;
  }

  /** The newest first. */
  async failuresOf(placed: string, name: string): Promise<FailureRow[]> {
    const rows: FailureRow[] = [];
    const { shown: owner, own: topic } = this.find(placed);
    for (const { shown, store } of await this.#sources()) {
      const records = shown === owner ? await store.openRecords?.() : undefined;
      if (!records || !await records.get(consumerKey({ topic, name }))) continue;
      for await (const { value } of records.list(failureKey({ topic, name }))) {
        const { id, error, attempts, time }: Failure = JSON.parse(value);
        rows.push({ id, error, attempts, time: time ?? null });
      }
    }
    return rows.sort((one, other) => one.id < other.id ? 1 : -1);
  }

  async #readNow(): Promise<WorkInfo> {
    const begin = performance.now();
    const { apps } = this.#target;
    const time = Date.now();
    const topicInfos: TopicInfo[] = [];
    const consumers: ConsumerInfo[] = [];
    let failure: string | null = null;
    let delay: number | null = null;
    for (const source of await this.#sources()) {
      const { store, isDurable, logs } = source;
      const read: TopicInfo[] = [];
      let consumersOf: ConsumerInfo[] = [];
      try {
        const before = performance.now();
        if (logs[0]) await store.bounds(logs[0]);
        if (isDurable) delay = logs[0] ? performance.now() - before : null;
        for (const log of logs) read.push(await this.#readTopic(log, source));
        for (const log of logs) consumersOf.push(...await this.#readConsumers(log, source));
      } catch (error) {
        const reason = failure = errorText(error);
        // What is known stays: it would look as if nothing was declared.
        for (const log of logs.slice(read.length)) read.push(this.#topicInfo(log, source, reason));
        const names = new Set(read.map(({ name }) => name));
        const isOfSource = ({ topic, durable }: ConsumerInfo) => durable === isDurable && names.has(topic);
        consumersOf = this.#latest?.consumers.filter(isOfSource) ?? [];
      }
      topicInfos.push(...read);
      consumers.push(...consumersOf);
    }
    this.#addHealth(time, delay);
    const cronInfos = await Promise.all(apps.map((shown) => this.#cronsOf(shown)));
    const took = performance.now() - begin;
    this.#pause = Math.max(INTERVAL, took / MOST_BUSY);
    this.#readAt = performance.now();
    const { rss, heapUsed } = Deno.memoryUsage();
    return this.#latest = {
      time,
      topics: topicInfos.sort(byName),
      consumers: consumers.sort((one, other) => byName(nameOf(one), nameOf(other))),
      crons: cronInfos.flat(),
      health: {
        nodes: await this.#nodes.list().catch(() => []),
        streams: streamProgress.open,
        sockets: this.#target.openSockets(),
        memory: { total: rss, heap: heapUsed },
        store: { durable: apps.some(({ topics }) => topics.isDurableOpen), failure },
        points: this.#health,
      },
    };
  }

  /** The stores in use: a durable one is never opened for the board. */
  async #sources(): Promise<readonly Source[]> {
    const sources: Source[] = [];
    const { apps } = this.#target;
    // Applications that are mounted may share the store: what none declares is shown once.
    const known = new Set(apps.flatMap(({ topics }) => {
      return topics.declared.filter(({ options }) => options.isDurable).map(({ name }) => name);
    }));
    for (const shown of apps) {
      const { topics } = shown;
      for (const isDurable of [true, false]) {
        const own = topics.declared.filter(({ options }) => options.isDurable === isDurable)
          .map(({ name, options: { policy } }): LogRef => ({ name, policy }));
        if (isDurable ? !topics.isDurableOpen : own.length === 0) continue;
        const store = topics.storeOf(isDurable);
        const listed = isDurable ? await store.list?.().catch(() => []) ?? [] : [];
        const others = listed.filter(({ name }) => !known.has(name));
        for (const { name } of others) known.add(name);
        sources.push({ shown, store, isDurable, logs: [...own, ...others] });
      }
    }
    return sources;
  }

  #viewOf(shown: ShownApp, log: LogRef, store: TopicStore): TopicView {
    const key = `${store.capabilities.durability}/${placedName(shown, log.name)}`;
    let view = this.#views.get(key);
    if (!view) this.#views.set(key, view = new TopicView(log));
    return view;
  }

  async #readTopic(log: LogRef, source: Source): Promise<TopicInfo> {
    const { shown, store } = source;
    const failure = await this.#viewOf(shown, log, store).update(store, now(store)).then(() => null, (error) => {
      if (error instanceof TypeError) return error.message;
      throw error;
    });
    return this.#topicInfo(log, source, failure);
  }

  #topicInfo(log: LogRef, { shown, store, isDurable }: Source, failure: string | null): TopicInfo {
    const view = this.#viewOf(shown, log, store);
    const { topics } = shown;
    const { name, policy: { age, count, bytes } } = log;
    return {
      ...{ name: placedName(shown, name), durable: isDurable, messages: view.messages, bytes: view.bytes },
      ...{ head: view.head, failure },
      newest: view.newest ?? null,
      subscribers: topics.subscribers.get(name) ?? 0,
      retention: { age: finite(age), count: finite(count), bytes: finite(bytes) },
      isDeclared: topics.declared.some((topic) => topic.name === name),
      rates: view.rates(now(store)),
    };
  }

  /**
   * A consumer of a topic that several applications declare belongs to the one that declares it.
   */
  #isElsewhere({ shown, isDurable }: Source, topic: string, name: string): boolean {
    const declares = ({ topics }: ShownApp) =>
      topics.consumers.some((one) => one.name === name && one.log.name === topic);
    return isDurable && !declares(shown) && this.#target.apps.some(declares);
  }

  async #readConsumers(log: LogRef, source: Source): Promise<ConsumerInfo[]> {
    const { shown, store, isDurable } = source;
    const records = await store.openRecords?.();
    if (!records) return [];
    const infos: ConsumerInfo[] = [];
    const { topics } = shown;
    const topic = placedName(shown, log.name);
    for (const report of await reportConsumers(store, log)) {
      const { name, position, lag, inFlight, failures, lost, lastError = null, paused } = report;
      if (this.#isElsewhere(source, log.name, name)) continue;
      const history = this.#historyOf(`${isDurable} ${topic}/${name}`);
      await this.#count(history, position, log, store);
      const declared = topics.consumers.find((one) => one.name === name && one.log.name === log.name);
      const time = now(store);
      history.lags.push({ time, lag });
      while (history.lags[0]!.time < time - 600_000) history.lags.shift();
      const held = await this.#inFlight(log, name, store, records, history);
      const deadLetter = declared?.options.deadLetter;
      infos.push({
        ...{ topic, name, durable: isDurable, isDeclared: declared !== undefined },
        ...{ position, lag, inFlightCount: inFlight, inFlight: held, failures, lost, lastError },
        deadLetter: deadLetter === undefined ? null : placedName(shown, deadLetter),
        attempts: declared?.options.attempts ?? null,
        paused: paused?.getTime() ?? null,
        handled: ratesOf(history.handled, time),
        lags: history.lags,
      });
    }
    return infos;
  }

  #historyOf(key: string): ConsumerHistory {
    let history = this.#histories.get(key);
    if (!history) this.#histories.set(key, history = { handled: new Map(), lags: [], seen: new Map(), position: "" });
    return history;
  }

  /** Counts the messages between the last position and this one. */
  async #count(history: ConsumerHistory, position: string, log: LogRef, store: TopicStore): Promise<void> {
    const last = history.position;
    history.position = position;
    if (last === "" || position === "" || last.slice(0, 8) !== position.slice(0, 8) || last >= position) return;
    const end = toPosition(position).cursor;
    const time = now(store);
    const slot = time - time % POINT;
    let from = toPosition(last).cursor;
    for (let counted = 0; from < end && counted < MAX_COUNTED;) {
      const { messages } = await store.read(log, from, { maxMessages: 500, maxBytes: 1024 * 1024 });
      const handled = messages.filter(({ cursor }) => cursor <= end).length;
      history.handled.set(slot, (history.handled.get(slot) ?? 0) + handled);
      counted += handled;
      if (handled < messages.length || messages.length === 0) break;
      from = messages.at(-1)!.cursor;
    }
    for (const slot of history.handled.keys()) if (slot < time - 610_000) history.handled.delete(slot);
  }

  async #inFlight(
    log: LogRef,
    name: string,
    store: TopicStore,
    records: RecordStore,
    { seen }: ConsumerHistory,
  ): Promise<InFlight[]> {
    const record = await records.get(consumerKey({ topic: log.name, name }));
    if (!record) return [];
    const { incarnation, ranges, pending } = decodeState(record.value);
    const found = pending.filter(({ node }) => node !== "").map(({ at, node, attempt }) => ({ at, node, attempt }));
    for (const { node, from, to, count, left } of ranges) {
      if (found.length >= MAX_IN_FLIGHT) break;
      const { messages } = await store.read(log, from, { maxMessages: Math.min(count, 256), maxBytes: 1024 * 1024 });
      for (const [index, { cursor }] of messages.entries()) {
        if (cursor <= to && (left === "" || left[index] === HELD)) found.push({ at: cursor, node, attempt: 1 });
      }
    }
    const now = Date.now();
    const shown = found.slice(0, MAX_IN_FLIGHT);
    const keys = new Set(shown.map(({ at, node, attempt }) => `${at} ${node} ${attempt}`));
    for (const key of seen.keys()) if (!keys.has(key)) seen.delete(key);
    for (const key of keys) if (!seen.has(key)) seen.set(key, now);
    return shown.map(({ at, node, attempt }) => {
      return { id: toId(incarnation, at), node, attempt, since: seen.get(`${at} ${node} ${attempt}`)! };
    });
  }

  async #cronsOf(shown: ShownApp): Promise<CronInfo[]> {
    const reports = await shown.crons.report().catch(() => shown.crons.report(false));
    return await Promise.all(reports.map((report) => this.#cronInfo(report, shown)));
  }

  async #cronInfo(cron: CronReport, shown: ShownApp): Promise<CronInfo> {
    const { name, schedule, timeZone, running, recent, runs, failures, skipped } = cron;
    return {
      ...{ name: placedName(shown, name), schedule, timeZone, runs, failures, skipped },
      next: await shown.crons.upcoming(name, UPCOMING),
      running: running ? { scheduled: running.scheduled.getTime(), began: running.began.getTime() } : null,
      recent: recent.map(({ scheduled, began, ended, error = null }) => ({
        ...{ scheduled: scheduled.getTime(), began: began.getTime(), ended: ended.getTime(), error },
      })).reverse(),
    };
  }

  #addHealth(time: number, store: number | null): void {
    this.#health.push({ time, store, loop: this.#worstLoop, memory: Deno.memoryUsage().rss });
    this.#worstLoop = 0;
    while (this.#health[0]!.time < time - 600_000) this.#health.shift();
  }

  #watchLoop(): void {
    let due = performance.now() + LOOP_INTERVAL;
    this.#loopTimer = setInterval(() => {
      const now = performance.now();
      this.#worstLoop = Math.max(this.#worstLoop, now - due);
      due = now + LOOP_INTERVAL;
    }, LOOP_INTERVAL);
  }
}

/** The name of a topic or a cron, with the place of a mounted application: `/shop orders`. */
function placedName({ at }: ShownApp, name: string): string {
  return at === "" ? name : `${at} ${name}`;
}

/** Resolves after a time, or when the signal aborts. */
export async function pause(ms: number, signal: AbortSignal): Promise<void> {
  if (signal.aborted) return;
  await new Promise<void>((resolve) => {
    const end = () => {
      clearTimeout(timer);
      signal.removeEventListener("abort", end);
      resolve();
    };
    const timer = setTimeout(end, ms);
    signal.addEventListener("abort", end);
  });
}

function now(store: TopicStore): number {
  return store.now?.() ?? Date.now();
}

function finite(value: number): number | null {
  return Number.isFinite(value) ? value : null;
}

function nameOf({ topic, name }: { readonly topic: string; readonly name: string }): { readonly name: string } {
  return { name: `${topic}/${name}` };
}

function byName(one: { readonly name: string }, other: { readonly name: string }): number {
  return one.name < other.name ? -1 : 1;
}
