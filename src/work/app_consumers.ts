/** `app.consumers`. What it does is loaded on first use. */
import { load } from "../base/async_context.ts";
import { checkOptions, quote } from "../base/options.ts";
import type { Consumers, Redelivery } from "../topics/consumers.ts";
import type { ConsumerReport } from "../topics/topic_report.ts";
import type { Topics } from "../topics/topics.ts";
import type { Place } from "./operate.ts";

type Operations = typeof import("./operate.ts");

interface SomeIds {
  readonly ids?: readonly string[];
}

export class AppConsumers implements Consumers {
  readonly #topics: Topics;
  readonly #startApp: () => Promise<void>;

  constructor(topics: Topics, startApp: () => Promise<void>) {
    this.#topics = topics;
    this.#startApp = startApp;
  }

  async report(): Promise<readonly ConsumerReport[]> {
    const { reportAllConsumers } = await operations();
    return await reportAllConsumers(this.#topics);
  }

  async pause(name: string): Promise<void> {
    await this.#change("pause", name, ({ pauseConsumer }, place) => pauseConsumer(place));
  }

  async resume(name: string): Promise<void> {
    await this.#change("resume", name, ({ resumeConsumer }, place) => resumeConsumer(place));
  }

  async retry(name: string, options: SomeIds = {}): Promise<Redelivery> {
    const action = "redeliver failures of";
    const ids = readIds(options, action);
    return await this.#change(action, name, async ({ retryFailures }, place) => {
      const kept = await retryFailures(place, ids);
      if (ids || place.declared?.options.deadLetter === undefined) return kept;
      const { redriveLetters } = await redriving();
      const { redelivered, gone } = await redriveLetters(this.#topics, place);
      return { redelivered: kept.redelivered + redelivered, gone: [...kept.gone, ...gone] };
    });
  }

  async redrive(name: string): Promise<Redelivery> {
    return await this.#change("redeliver dead letters of", name, async (_, place) => {
      const { redriveLetters } = await redriving();
      return await redriveLetters(this.#topics, place);
    });
  }

  async discard(name: string, options: SomeIds = {}): Promise<number> {
    const action = "discard failures of";
    const ids = readIds(options, action);
    return await this.#change(action, name, ({ discardFailures }, place) => discardFailures(place, ids));
  }

  async remove(name: string): Promise<void> {
    await this.#change("remove", name, ({ removeConsumer }, place) => removeConsumer(place));
  }

  async idle(name?: string, options: { readonly signal?: AbortSignal } = {}): Promise<void> {
    checkOptions(options, { signal: true }, "wait for consumers");
    options.signal?.throwIfAborted();
    await this.#startApp();
    const { waitForIdle } = await load(() => import("./idle.ts"));
    await waitForIdle(this.#topics, name, options.signal);
  }

  async #change<Result>(
    action: string,
    name: string,
    change: (operations: Operations, place: Place) => Promise<Result>,
  ): Promise<Result> {
    const all = await operations();
    return await change(all, await all.findConsumer(this.#topics, name, action));
  }
}

function redriving(): Promise<typeof import("./redrive.ts")> {
  return load(() => import("./redrive.ts"));
}

function operations(): Promise<Operations> {
  return load(() => import("./operate.ts"));
}

function readIds(options: SomeIds, action: string): ReadonlySet<string> | undefined {
  checkOptions(options, { ids: true }, `${action} a consumer`);
  const { ids } = options;
  if (ids === undefined) return undefined;
  if (Array.isArray(ids) && ids.every((id) => typeof id === "string")) return new Set(ids);
  throw new TypeError(`Cannot ${action} a consumer: ids must be an array of ids of messages, got ${quote(ids)}`);
}
