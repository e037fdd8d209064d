/** Keys of messages as records hold them: short, whatever the length of the key. */

/**
 * A key as a text of at most 11 characters. Two keys that give the same text share one queue, which
 * is slower, and no mistake.
 */
export function hashKey(key: string): string {
  let [high, low] = [0x811c9dc5, 0x9747b28c];
  for (let index = 0; index < key.length; index++) {
    const unit = key.charCodeAt(index);
    high = Math.imul(high ^ unit, 0x01000193);
    low = Math.imul(low ^ unit, 0x5bd1e995) ^ (high >>> 15);
  }
  high = Math.imul(high ^ (high >>> 16) ^ low, 0x85ebca6b);
  low = Math.imul(low ^ (low >>> 13) ^ high, 0xc2b2ae35);
  // 53 bits are what a number holds exactly.
  return ((high >>> 11) * 2 ** 32 + ((low ^ (low >>> 16)) >>> 0)).toString(36);
}
