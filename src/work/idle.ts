/** Waits until consumers have no messages. */
import { quote } from "../base/options.ts";
import type { DeclaredConsumer } from "../topics/consume_options.ts";
import type { Topics } from "../topics/topics.ts";
import { consumerKey, type ConsumerState, decodeState, heldCount } from "./consumers/record.ts";
import { findConsumer, pathOf, type Place } from "./operate.ts";

/** The pauses between two looks, unless the store calls back. */
const FIRST_PAUSE = 20;
const MAX_PAUSE = 200;

/** @throws {Error} If messages wait for a consumer that is paused, or the application stops. */
export async function waitForIdle(topics: Topics, name: string | undefined, signal?: AbortSignal): Promise<void> {
  const action = "wait for";
  const paths = name === undefined ? topics.consumers.map(toPath) : [name];
  if (paths.length === 0) {
    throw new TypeError("Cannot wait for consumers: the application has none, declare one by topic.consume()");
  }
  const places = await Promise.all(paths.map((path) => findConsumer(topics, path, action)));
  let wake = () => {};
  const unwatch = places.map(({ records, consumer }) => records.watch?.(consumerKey(consumer), () => wake()));
  try {
    for (let pause = FIRST_PAUSE; !await areIdle(places); pause = Math.min(2 * pause, MAX_PAUSE)) {
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, pause);
        wake = () => {
          clearTimeout(timer);
          resolve();
        };
        signal?.addEventListener("abort", wake, { once: true });
      });
      signal?.removeEventListener("abort", wake);
      signal?.throwIfAborted();
      if (topics.isEnding) throw new Error("Cannot wait for consumers: the application stops");
    }
  } finally {
    for (const end of unwatch) end?.();
  }
}

function toPath({ log, name }: DeclaredConsumer): string {
  return pathOf({ topic: log.name, name });
}

/**
 * A handler may publish to the topic of another consumer before its message is done. So the ends of
 * the logs are read after all records.
 */
async function areIdle(places: readonly Place[]): Promise<boolean> {
  const states = await Promise.all(places.map(async ({ records, consumer }) => {
    const record = await records.get(consumerKey(consumer));
    return record ? decodeState(record.value) : undefined;
  }));
  let areAll = true;
  for (const [index, place] of places.entries()) {
    const state = states[index];
    if (state && await isIdle(state, place)) continue;
    if (state?.paused !== undefined && !isHeld(state)) {
      throw new Error(`Cannot wait for ${quote(pathOf(place.consumer))}: messages wait, and it is paused, resume it`);
    }
    areAll = false;
  }
  return areAll;
}

async function isIdle(state: ConsumerState, { store, consumer, declared }: Place): Promise<boolean> {
  if (state.pending.length > 0 || state.pages.length > 0 || isHeld(state)) return false;
  const log = declared?.log ?? (await store.list?.())?.find(({ name }) => name === consumer.topic);
  if (!log) return true;
  const { incarnation, highWatermark } = await store.bounds(log);
  return incarnation === state.incarnation && state.next >= highWatermark;
}

function isHeld({ ranges, pending }: ConsumerState): boolean {
  return ranges.some((range) => heldCount(range) > 0) || pending.some(({ node }) => node !== "");
}
