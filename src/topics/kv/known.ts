/** What a node knows of a database from what it has written there, so that it need not ask again. */
import type { KvCheck, KvKey, KvSet } from "./engine.ts";
import { checkOf, epochOf, type Life } from "./epoch.ts";
import { bellKey, framesPrefix, headKey } from "./keys.ts";

/** Of how many logs and series something is known; of more it is found out again. */
const MAX_KNOWN = 10_000;

/** What is known of a log. */
export interface KnownLog {
  /** The life of the log. */
  readonly epoch: string;
  /** Holds in that life alone. */
  readonly check: KvCheck;
  /** What is set by each write. */
  readonly sets: readonly KvSet[];
  /** Where frames go. */
  readonly frames: KvKey;
  /** Whether its policy is written. */
  isDeclared: boolean;
  /** The version of its newest write with ids; there may have been newer ones by others. */
  newest: string | undefined;
}

/** Knows logs and series of one life of the database. */
export class Known {
  readonly #bellOf: (name: string) => number;
  #life: Life | undefined;
  /** By name; the one that was used last comes last. */
  readonly #logs = new Map<string, KnownLog>();
  /** The version of what is remembered of a series, by its key; the one that was used last comes last. */
  readonly #series = new Map<string, string>();

  /**
   * Knows nothing yet.
   *
   * @param bellOf The bell of a log.
   */
  constructor(bellOf: (name: string) => number) {
    this.#bellOf = bellOf;
  }

  /** What is known of a log, in a life of the database: of another one nothing is known any more. */
  log(name: string, life: Life): KnownLog {
    if (life !== this.#life) {
      this.#logs.clear();
      this.#series.clear();
    }
    this.#life = life;
    const log = this.#logs.get(name) ?? this.#newLog(name, life);
    note(this.#logs, name, log);
    return log;
  }

  /** The version of what is remembered of a series; undefined where it is not known. */
  versionOf(series: string): string | undefined {
    return this.#series.get(series);
  }

  /** Takes note of the version of what is remembered of a series; null where nothing is. */
  noteVersion(series: string, version: string | null): void {
    if (version === null) this.#series.delete(series);
    else note(this.#series, series, version);
  }

  #newLog(name: string, life: Life): KnownLog {
    const epoch = epochOf(name, life);
    const encoder = new TextEncoder();
    return {
      epoch,
      check: checkOf(life),
      sets: [
        { key: headKey(name), value: encoder.encode(epoch) },
        { key: bellKey(this.#bellOf(name)), value: encoder.encode(name) },
      ],
      frames: framesPrefix(name),
      isDeclared: false,
      newest: undefined,
    };
  }
}

/** Notes something as the last that was used, and drops what was not used for longest where there is too much. */
function note<Value>(known: Map<string, Value>, key: string, value: Value): void {
  known.delete(key);
  known.set(key, value);
  if (known.size <= MAX_KNOWN) return;
  for (const oldest of known.keys()) {
    known.delete(oldest);
    return;
  }
}
