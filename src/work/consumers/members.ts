/** The other nodes of a consumer: which are alive, and which have ended. */
import type { ProcessStore } from "../../store/record_store.ts";

/** After so much of a lease without a read, the other nodes' lease timers restart. */
const BLIND_PART = 1 / 2;
/** How often lease timers restart at most: a store may always be slow. */
const MAX_RENEWALS = 3;
const CHECK_INTERVAL = 1_000;
/** Between the name of the process and the rest of a node's name. */
const SEPARATOR = ".";

interface Sighting {
  readonly heartbeat: number;
  time: number;
  /** How often its lease timer was restarted. */
  renewals: number;
}

/** It begins with the name of the process if the store has one. */
export async function newNodeName(store: ProcessStore): Promise<string> {
  const id = crypto.randomUUID();
  let process: string | undefined;
  try {
    process = await store.processName?.();
  } catch {
    // Then only the lease shows that this process has ended.
  }
  return process === undefined ? id.slice(0, 8) : process + SEPARATOR + id.slice(0, 4);
}

/** What one node knows of the others. Times are milliseconds of its monotonic clock. */
export class Members {
  readonly #store: ProcessStore;
  readonly #lease: number;
  readonly #sightings = new Map<string, Sighting>();
  /** Nodes whose processes have ended. */
  readonly #ended = new Set<string>();
  /** Nodes whose processes were running at the last check. */
  readonly #alive = new Set<string>();
  #checkedAt = -Infinity;

  constructor(store: ProcessStore, lease: number) {
    this.#store = store;
    this.#lease = lease;
  }

  /**
   * Compares the heartbeats of all other nodes that hold something with those of the last read.
   *
   * @param before When the record was read before.
   */
  observe(nodes: ReadonlyMap<string, number>, now: number, before: number): void {
    // The store could not be reached, or this process was suspended. The other nodes may have been
    // unable to renew their leases, too.
    const wasBlind = now - before > this.#lease * BLIND_PART;
    for (const sighting of wasBlind ? this.#sightings.values() : []) {
      if (sighting.renewals++ < MAX_RENEWALS) sighting.time = now;
    }
    for (const [node, heartbeat] of nodes) {
      if (this.#sightings.get(node)?.heartbeat !== heartbeat) {
        this.#sightings.set(node, { heartbeat, time: now, renewals: 0 });
      }
    }
    for (const node of this.#sightings.keys()) {
      if (nodes.has(node)) continue;
      this.#sightings.delete(node);
      this.#ended.delete(node);
      this.#alive.delete(node);
    }
  }

  /** Asks which processes have ended, also before an expired lease counts as a crash. */
  async checkProcesses(now: number): Promise<void> {
    if (now < this.nextCheck && !this.#hasSilent(now)) return;
    this.#checkedAt = now;
    for (const node of [...this.#sightings.keys()]) {
      const process = this.#processOf(node);
      if (process === undefined) continue;
      const hasEnded = await this.#store.hasEnded!(process).catch(() => undefined);
      if (hasEnded) this.#ended.add(node);
      if (hasEnded === false) this.#alive.add(node);
      else this.#alive.delete(node);
    }
  }

  /** A lease has expired whose process can be checked. */
  #hasSilent(now: number): boolean {
    for (const [node, { time }] of this.#sightings) {
      if (now - time >= this.#lease && this.#processOf(node) !== undefined) return true;
    }
    return false;
  }

  /** Undefined if the store cannot check the process. */
  #processOf(node: string): string | undefined {
    const [process, rest] = node.split(SEPARATOR);
    return rest === undefined || !this.#store.hasEnded ? undefined : process;
  }

  /** Its process has ended, or its lease has expired. */
  hasEnded(node: string, now: number): boolean {
    return this.#ended.has(node) || now - (this.#sightings.get(node)?.time ?? now) >= this.#lease;
  }

  /** Whether a node that has ended has crashed: its process is not known to be running. */
  hasCrashed(node: string): boolean {
    return !this.#alive.has(node);
  }

  /** `Infinity` if there is nothing to check. */
  get nextCheck(): number {
    const canAsk = [...this.#sightings.keys()].some((node) => this.#processOf(node) !== undefined);
    return canAsk ? this.#checkedAt + CHECK_INTERVAL : Infinity;
  }

  /** `-Infinity` if a node has ended, `Infinity` if there is no lease. */
  get nextEnd(): number {
    let next = this.#ended.size > 0 ? -Infinity : Infinity;
    for (const { time } of this.#sightings.values()) next = Math.min(next, time + this.#lease);
    return next;
  }
}
