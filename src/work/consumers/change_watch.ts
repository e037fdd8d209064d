/**
 * Changes of consumers by operators. Each one is in the record of its consumer. One more record,
 * which each process reads every second, shows that there was a change.
 */
import type { Clock } from "../../base/clock.ts";
import type { RecordStore } from "../../store/record_store.ts";
import { CHANGED } from "./record.ts";

const INTERVAL = 1_000;

/** Nodes see the change within about a second, or when they read the consumer's record next. */
export async function announceChange(records: RecordStore): Promise<void> {
  await records.set(CHANGED, "1", {}).catch(() => {});
}

export interface ChangeWatchOptions {
  readonly records: RecordStore;
  /** Whether the store calls back after each change: then it is not read every second. */
  readonly isTold: boolean;
  readonly onChange: () => void;
  readonly clock: Clock;
}

export class ChangeWatch {
  readonly #options: ChangeWatchOptions;
  #version: string | null = null;
  #isClosed = false;
  #cancel: (() => void) | undefined;
  #unwatch: (() => void) | undefined;

  constructor(options: ChangeWatchOptions) {
    this.#options = options;
  }

  start(): void {
    const { records, isTold, onChange } = this.#options;
    this.#unwatch = records.watch?.(CHANGED, onChange);
    if (!isTold || this.#unwatch === undefined) void this.#poll();
  }

  close(): void {
    this.#isClosed = true;
    this.#cancel?.();
    this.#unwatch?.();
  }

  async #poll(): Promise<void> {
    const { records, onChange, clock } = this.#options;
    try {
      const version = (await records.get(CHANGED))?.version ?? null;
      if (version !== this.#version && !this.#isClosed) onChange();
      this.#version = version;
    } catch {
      // The consumers log that the store cannot be reached.
    }
    if (!this.#isClosed) this.#cancel = clock.after(INTERVAL, () => void this.#poll());
  }
}
