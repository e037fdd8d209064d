import { assertRejects } from "@std/assert";
import { LOG_START, type TopicStore } from "../../src/store/topic_store.ts";
import type { Relay, WireState } from "../support/relay.ts";
import { ALL, append, logOf, messageOf } from "./store_fixture.ts";

/** The ways in which a wire may be lost. */
export const LOST: readonly WireState[] = ["lossy", "stalled", "cut"];

/** A store whose wire is lost ends within the time of a request, and what waits for it fails. */
export async function endWithoutWire(store: TopicStore, relay: Relay, state: WireState): Promise<void> {
  const log = logOf("orders");
  await append(store, log, [messageOf(1)]);
  const records = await store.openRecords!();
  const unwatch = store.watch(log, () => {});
  relay.set(state);
  const failures = [
    append(store, log, [messageOf(2)]),
    store.read(log, LOG_START, ALL),
    store.bounds(log),
    store.list!(),
    records.set(["a"], "1", {}),
    records.get(["a"]),
    Array.fromAsync(records.list(["a"])),
  ].map((action) => assertRejects(() => action, Error));
  await store.close();
  await Promise.all(failures);
  unwatch();
}
