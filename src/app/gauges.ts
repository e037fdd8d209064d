/** The gauges of OpenTelemetry, which are observed when metrics are collected. */
import { readProgress } from "../work/operate.ts";
import { streamProgress } from "../http/open_streams.ts";
import type { GaugeResult, meter, ObservableGauge } from "../log/telemetry.ts";
import type { Topics } from "../topics/topics.ts";

interface GaugeSource {
  readonly topics: Topics;
  readonly openSockets: () => number;
}

const TOPIC = "messaging.destination.name";
const CONSUMER = "messaging.consumer.group.name";
/** Distinguishes the workers of a process: else one would overwrite the others. */
const WORKER = "webfw.worker";
/** The attributes of each observation of this thread. */
const OWN: Readonly<Record<string, string>> = ownNames();

/**
 * How long a collection waits for stores, in milliseconds: it delays all metrics of the process.
 */
const MEASURING_TIMEOUT = 2_000;

const sources = new Set<GaugeSource>();
let areMade = false;

/**
 * Observes an application from now on.
 *
 * @returns Ends that, and waits for a collection in progress: Deno 2.9 hangs in a `Deno.exit()`
 * during one.
 */
export function showGauges(made: NonNullable<typeof meter>, source: GaugeSource): () => Promise<void> {
  sources.add(source);
  if (!areMade) makeGauges(made);
  areMade = true;
  return async () => {
    sources.delete(source);
    await observing;
  };
}

function makeGauges(made: NonNullable<typeof meter>): void {
  const gauge = (name: string, unit: string, description: string): ObservableGauge =>
    made.createObservableGauge(name, { unit, description });

  gauge("webfw.streams", "{stream}", "Streamed replies that are open").addCallback((result) => {
    result.observe(streamProgress.open, OWN);
  });
  gauge("webfw.websockets", "{websocket}", "WebSockets that are open").addCallback((result) => {
    let open = 0;
    for (const { openSockets } of sources) open += openSockets();
    result.observe(open, OWN);
  });
  gauge("webfw.subscribers", "{subscription}", "Subscriptions to topics that are open").addCallback((result) => {
    const counts = new Map<string | undefined, number>();
    for (const { topics } of sources) {
      for (const [name, count] of topics.subscribers) counts.set(name, (counts.get(name) ?? 0) + count);
    }
    for (const [name, count] of counts) result.observe(count, name === undefined ? OWN : { ...OWN, [TOPIC]: name });
  });
  gauge("webfw.consumer.lag", "s", "The age of the oldest message that a consumer has not handled").addCallback(
    (result) => observing = measureLags(result),
  );
}

function ownNames(): Record<string, string> {
  const { name = "" } = globalThis as { readonly name?: string };
  return "WorkerGlobalScope" in globalThis && name !== "" ? { [WORKER]: name } : {};
}

let observing: Promise<void> | undefined;
/** Its reads of the stores, which may take longer. */
let measuring: Promise<void> | undefined;

/** Observes the lags. While a store cannot be reached, the gauge has no values. */
async function measureLags(result: GaugeResult): Promise<void> {
  const { promise: late, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, MEASURING_TIMEOUT);
  const lags: (readonly [lag: number, names: Readonly<Record<string, string>>])[] = [];
  // Late reads go on, and their result is not used.
  if (!measuring) {
    const own = measuring = findLags((...found) => lags.push(found)).catch(() => {}).finally(() => {
      if (measuring === own) measuring = undefined;
    });
    await Promise.race([own, late]);
  }
  clearTimeout(timer);
  for (const [lag, names] of lags) result.observe(lag / 1000, names);
}

/** The lags of the declared consumers, in milliseconds. */
async function findLags(found: (lag: number, names: Readonly<Record<string, string>>) => void): Promise<void> {
  for (const { topics } of sources) {
    const declared = Map.groupBy(topics.consumers, ({ log }) => log);
    for (const [log, consumers] of declared) {
      const names = new Set(consumers.map(({ name }) => name));
      for (const { name, lag } of await readProgress(topics.storeOf(consumers[0]!.isDurable), log)) {
        if (names.has(name)) found(lag, { ...OWN, [TOPIC]: log.name, [CONSUMER]: name });
      }
    }
  }
}
