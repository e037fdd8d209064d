/** The store in memory of an application that several workers of a process serve. */
import { DistantStore } from "./distant_store.ts";
import { MEMORY_CAPABILITIES, MemoryStore } from "./memory_store.ts";
import { SharedStore } from "./shared_store.ts";
import type { TopicStore } from "./store.ts";

/** How the workers of a process share what topics keep in memory: the first of them keeps it, and the others ask it. */
export type WorkerPorts =
  | {
    /** In the first worker: one for each of the others. */
    readonly guests: readonly MessagePort[];
  }
  | {
    /** In the others: the one to the first. */
    readonly host: MessagePort;
  };

/** The store as a worker has it. */
export function openWorkerStore(ports: WorkerPorts): TopicStore {
  return "host" in ports
    ? new DistantStore(ports.host, MEMORY_CAPABILITIES)
    : new SharedStore(new MemoryStore(), ports.guests);
}
