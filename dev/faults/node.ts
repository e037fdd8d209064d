// One node of a run, in its own process: it publishes, reads, and logs what it sees. Its argument
// is a plan as JSON.

import { App } from "../../mod.ts";
import type { TopicOptions, TopicsLocation } from "../../src/types/mod.ts";
import { NetworkClient } from "../../src/store/kv/network_client.ts";
import type { KvWrite } from "../../src/store/kv/engine.ts";
import { KvStore } from "../../src/store/kv/kv_store.ts";
import { type LogEntry, parseLog, type Payload } from "./node_log.ts";
import { runWorkload, type WorkloadPlan } from "./workload.ts";

/** The work of a node, and its store. */
export interface NodePlan extends WorkloadPlan {
  readonly topics: string | { readonly url: string; readonly token: string };
  /** The file of its log. Earlier generations may have written to it. */
  readonly log: string;
  readonly options: TopicOptions<Payload>;
  /**
   * For the negative control: whether writes check nothing, so that a repeated write stores its
   * messages twice.
   */
  readonly isBlind: boolean;
}

class Log {
  readonly #file: Deno.FsFile;
  readonly #encoder = new TextEncoder();

  constructor(path: string) {
    this.#file = Deno.openSync(path, { read: true, write: true, create: true });
    // An earlier generation was killed while it wrote a line.
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
  const app = new App({ topics: placeOf(plan) });
  const stopping = new AbortController();
  Deno.addSignalListener("SIGTERM", () => stopping.abort());
  await runWorkload({
    plan,
    topic: app.topic("orders", plan.options),
    before,
    note: (entry) => log.write(entry),
    warn: (error) => console.error(error),
    signal: stopping.signal,
  });
  await app.stop();
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
      const client = await NetworkClient.open(url, topics.token, signal);
      const write = client.write.bind(client);
      return Object.assign(client, { write: (asked: KvWrite) => write({ ...asked, checks: [] }) });
    },
  });
}

if (import.meta.main) await main(JSON.parse(Deno.args[0]!));
