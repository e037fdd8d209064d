/** The limits of a store in Deno KV. They are known before the store is loaded. */
import type { StoreCapabilities } from "../store.ts";

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
