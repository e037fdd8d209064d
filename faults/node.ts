// One node of a run, in a process of its own: it publishes, reads, and writes down what it sees. Its argument is a plan as JSON.

import {
  App,
  PublishOutcomeUnknown,
  type Topic,
  type TopicEntry,
  type TopicOptions,
  type TopicsLocation,
} from "../mod.ts";
import { ConnectClient } from "../src/topics/kv/connect_client.ts";
import type { KvWrite } from "../src/topics/kv/engine.ts";
import { KvStore } from "../src/topics/kv/kv_store.ts";
import { type LogEntry, parseLog, type Payload } from "./log_entry.ts";

/** What a node does. */
export interface NodePlan {
  readonly name: string;
  /** Which of its lives this is, from 1. */
  readonly life: number;
  readonly topics: string | { readonly url: string; readonly token: string };
  /** The file that it writes its log to; what is there it did in a life before. */
  readonly log: string;
  readonly options: TopicOptions<Payload>;
  /** How many publishers there are; every second one gives its messages ids. */
  readonly publishers: number;
  /** How many messages each publishes. */
  readonly messages: number;
  /** How long a publish waits before it is made again, in milliseconds. */
  readonly patience: number;
  /** How many readers there are. */
  readonly readers: number;
  /** How long each reader rests after an entry, in milliseconds; the last reader rests ten times as long. */
  readonly rest: number;
  /** For the negative control: whether writes check nothing, so that one that is made twice is stored twice. */
  readonly isBlind: boolean;
}

class Log {
  readonly #file: Deno.FsFile;
  readonly #encoder = new TextEncoder();

  constructor(path: string) {
    this.#file = Deno.openSync(path, { read: true, write: true, create: true });
    // What a life before was writing when it was killed is no line.
    const text = Deno.readTextFileSync(path);
    const end = this.#encoder.encode(text.slice(0, text.lastIndexOf("\n") + 1)).length;
    this.#file.truncateSync(end);
    this.#file.seekSync(end, Deno.SeekMode.Start);
  }

  write(entry: LogEntry): void {
    this.#file.writeSync(this.#encoder.encode(JSON.stringify(entry) + "\n"));
  }
}

async function main(plan: NodePlan): Promise<void> {
  const before = await readBefore(plan.log);
  const log = new Log(plan.log);
  log.write({ kind: "begin", life: plan.life });
  const app = new App({ topics: placeOf(plan) });
  const topic = app.topic("orders", plan.options);
  const stopping = new AbortController();
  Deno.addSignalListener("SIGTERM", () => stopping.abort());

  const reading = Array.from({ length: plan.readers }, (_, index) => {
    const rest = index === plan.readers - 1 && index > 0 ? plan.rest * 10 : plan.rest;
    return readAll(topic, `${plan.name}.${index}`, rest, log, stopping.signal);
  });
  await Promise.all(Array.from({ length: plan.publishers }, async (_, index) => {
    const publisher = `${plan.name}.${index}`;
    const hasIds = index % 2 === 0;
    // Whoever gives ids publishes all again; whoever does not cannot tell what became of the last one.
    const first = hasIds
      ? 0
      : before.filter(({ kind, ...entry }) =>
        kind === "invoke" && "payload" in entry && entry.payload.publisher === publisher
      ).length;
    for (let number = first; number < plan.messages; number++) {
      await publish(topic, { publisher, number }, hasIds, plan.patience, log);
    }
  }));
  log.write({ kind: "published" });
  await Promise.all(reading);
  await app.stop();
}

async function publish(topic: Topic<Payload>, payload: Payload, hasId: boolean, patience: number, log: Log) {
  let id = hasId ? `${payload.publisher}-${payload.number}` : undefined;
  log.write({ kind: "invoke", payload });
  for (;;) {
    try {
      const result = await topic.publish(payload, {
        signal: AbortSignal.timeout(patience),
        ...id !== undefined && { id },
      });
      return log.write({ kind: "ok", payload, ...result });
    } catch (error) {
      if (!(error instanceof PublishOutcomeUnknown)) {
        // It had not been sent to the store.
        if (error instanceof DOMException) continue;
        throw error;
      }
      id = error.id;
      log.write({ kind: "unknown", payload });
    }
  }
}

async function readAll(topic: Topic<Payload>, reader: string, rest: number, log: Log, signal: AbortSignal) {
  let after: string | undefined;
  while (!signal.aborted) {
    log.write({ kind: "subscribe", reader, after: after ?? null });
    const subscription = topic.subscribe(after === undefined ? { from: "earliest", signal } : { after, signal });
    try {
      for await (const entry of subscription) {
        after = note(entry, reader, log) ?? after;
        if (rest > 0) await new Promise((resolve) => setTimeout(resolve, Math.random() * rest));
      }
    } catch (error) {
      // The store was away for longer than the topic waits.
      console.error(error);
    }
  }
}

function note(entry: TopicEntry<Payload>, reader: string, log: Log): string | undefined {
  if ("gap" in entry) {
    log.write({ kind: "gap", reader, ...entry.gap });
    return undefined;
  }
  log.write({ kind: "read", reader, id: entry.id, payload: entry.data });
  return entry.id;
}

async function readBefore(path: string): Promise<LogEntry[]> {
  try {
    return parseLog(await Deno.readTextFile(path));
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return [];
    throw error;
  }
}

function placeOf({ topics, isBlind }: NodePlan): TopicsLocation {
  if (!isBlind || typeof topics === "string") return topics;
  const url = new URL(topics.url);
  return new KvStore({
    name: url.href,
    interval: 100,
    open: async (signal) => {
      const client = await ConnectClient.open(url, topics.token, signal);
      const write = client.write.bind(client);
      return Object.assign(client, { write: (asked: KvWrite) => write({ ...asked, checks: [] }) });
    },
  });
}

if (import.meta.main) await main(JSON.parse(Deno.args[0]!));
