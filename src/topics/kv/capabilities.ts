/** What a store in Deno KV can do. Apart from the store, so that it is known before that is loaded. */
import type { StoreCapabilities } from "../store.ts";

/** A frame, which is all that is written at once, fits a value of 64 KiB with this much data and the longest type. */
const MAX_DATA_BYTES = 60 * 1024;

/** What a store in Deno KV can do. */
export const KV_CAPABILITIES: StoreCapabilities = {
  durability: "disk",
  maxMessageBytes: MAX_DATA_BYTES,
  // So that an index in a frame has two hexadecimal digits, and that of the last message is none of the others.
  maxBatchMessages: 256,
  maxBatchIds: 256,
  maxBatchBytes: MAX_DATA_BYTES,
};
