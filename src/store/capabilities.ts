/** The limits of the stores of the framework. They are known before a store is loaded. */
import type { StoreCapabilities } from "./topic_store.ts";

/**
 * The largest data of one write. It fits a value of 64 KiB as one record, together with the longest
 * type.
 */
const MAX_DATA_BYTES = 60 * 1024;

/** The limits of a store in Deno KV. */
export const KV_CAPABILITIES: StoreCapabilities = {
  durability: "disk",
  maxMessageBytes: MAX_DATA_BYTES,
  // An index in a record has two hexadecimal digits; ff marks the last message.
  maxBatchMessages: 256,
  maxBatchBytes: MAX_DATA_BYTES,
  ids: { longest: Infinity, count: Infinity, outlivesMessage: true },
};

/**
 * The limits of a store in NATS JetStream.
 *
 * @param replicas How many servers keep each message.
 */
export function jetStreamCapabilities(replicas: number): StoreCapabilities {
  return {
    durability: replicas > 1 ? "quorum" : "disk",
    // As in Deno KV, so that a topic can move from one to the other.
    maxMessageBytes: MAX_DATA_BYTES,
    // A server takes 1,000 messages in an atomic batch.
    maxBatchMessages: 256,
    maxBatchBytes: 1024 * 1024,
    // A server that starts knows the ids of the messages that it still has.
    ids: { longest: 3_650 * 24 * 3_600_000, count: Infinity, outlivesMessage: false },
  };
}
