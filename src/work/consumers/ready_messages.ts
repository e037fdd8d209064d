/** The messages of a node that wait for a handler: one by one, or until they make a batch. */
import type { ResolvedBatch } from "../../topics/consume_options.ts";
import type { Delivery } from "./delivery.ts";

interface Waiting {
  readonly delivery: Delivery;
  /** By the monotonic clock. */
  readonly since: number;
}

/** The messages of one handler. */
export interface DueMessages {
  readonly deliveries: readonly Delivery[];
  /** When the first of them was added. */
  readonly since: number;
}

/** Messages of one key, or without a key, for the same attempt. */
interface Group extends DueMessages {
  readonly deliveries: Delivery[];
  /** It gets no more messages. */
  isComplete: boolean;
}

export class ReadyMessages {
  readonly #batch: ResolvedBatch | undefined;
  #waiting: Waiting[] = [];

  constructor(batch: ResolvedBatch | undefined) {
    this.#batch = batch;
  }

  get size(): number {
    return this.#waiting.length;
  }

  add(delivery: Delivery, now: number): void {
    this.#waiting.push({ delivery, since: now });
  }

  remove(deliveries: readonly Delivery[]): void {
    if (deliveries.length === 1) {
      const index = this.#waiting.findIndex(({ delivery }) => delivery === deliveries[0]);
      if (index >= 0) this.#waiting.splice(index, 1);
      return;
    }
    const removed = new Set(deliveries);
    this.#waiting = this.#waiting.filter(({ delivery }) => !removed.has(delivery));
  }

  /** Removes the messages of a key, or all of them. */
  removeAll(key?: string): Delivery[] {
    const removed: Delivery[] = [];
    this.#waiting = this.#waiting.filter(({ delivery }) => {
      if (key !== undefined && delivery.key !== key) return true;
      removed.push(delivery);
      return false;
    });
    return removed;
  }

  /** The messages that handlers may get now, each time those of one handler. */
  *due(now: number, isBusy: (delivery: Delivery) => boolean): Generator<DueMessages> {
    if (this.#batch) {
      const { wait } = this.#batch;
      for (const group of this.#groups(isBusy)) if (group.isComplete || group.since + wait <= now) yield group;
      return;
    }
    const keys = new Set<string>();
    for (const { delivery, since } of this.#waiting) {
      const { key } = delivery;
      if (isBusy(delivery) || (key !== undefined && keys.has(key))) continue;
      if (key !== undefined) keys.add(key);
      yield { deliveries: [delivery], since };
    }
  }

  /** When the next batch has waited long enough; `Infinity` if there is none that still waits. */
  nextDue(now: number, isBusy: (delivery: Delivery) => boolean): number {
    let next = Infinity;
    if (!this.#batch) return next;
    for (const { since, isComplete } of this.#groups(isBusy)) {
      const due = since + this.#batch.wait;
      // One that is due waits for a permit.
      if (!isComplete && due > now) next = Math.min(next, due);
    }
    return next;
  }

  /** In the order of their first messages. Of a key there is one group only. */
  #groups(isBusy: (delivery: Delivery) => boolean): Group[] {
    const { size } = this.#batch!;
    const groups: Group[] = [];
    const open = new Map<string | number, Group>();
    for (const { delivery, since } of this.#waiting) {
      if (isBusy(delivery)) continue;
      const { key, attempt } = delivery;
      const name = key ?? attempt;
      let group = open.get(name);
      // With a key, later messages must wait. Without one, they make another group.
      if (group && key !== undefined && group.deliveries[0]!.attempt !== attempt) group.isComplete = true;
      if (group?.isComplete && key !== undefined) continue;
      if (!group || group.isComplete) {
        group = { since, deliveries: [], isComplete: false };
        groups.push(group);
        open.set(name, group);
      }
      group.deliveries.push(delivery);
      group.isComplete = group.deliveries.length >= size;
    }
    return groups;
  }
}
