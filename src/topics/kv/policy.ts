/** The policy of a log as it is kept in the store, for whoever trims it. */
import type { LogPolicy } from "../store.ts";

/** Writes a policy. */
export function encodePolicy({ age, count, bytes, dedupe }: LogPolicy): Uint8Array {
  return new TextEncoder().encode(JSON.stringify({ age, count, bytes, dedupe }));
}

/** Reads a policy. */
export function decodePolicy(value: Uint8Array): LogPolicy {
  const { age, count, bytes, dedupe } = JSON.parse(new TextDecoder().decode(value)) as Record<string, number | null>;
  // JSON has null for Infinity.
  return { age: age ?? Infinity, count: count ?? Infinity, bytes: bytes ?? Infinity, dedupe: dedupe ?? Infinity };
}
