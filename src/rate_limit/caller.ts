/** The callers that limits count, as short texts. */
import { load } from "../base/async_context.ts";

/** Longer texts are hashed, so that the size of what is kept is bounded. */
const MAX_LENGTH = 128;

/**
 * The caller behind an address: the address of IPv4, or the network `/64` of one of IPv6, because a
 * single client has such a network for itself (RFC 6177). An address of IPv4 that is written as
 * IPv6 is one of IPv4.
 */
export function networkOf(address: string): string {
  if (!address.includes(":")) return address;
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(address)?.[1];
  if (mapped !== undefined) return mapped;
  const groups = groupsOf(address);
  const [sixth = 0, seventh = 0, eighth = 0] = groups.slice(5);
  if (sixth === 0xffff && groups.slice(0, 5).every((group) => group === 0)) {
    return [seventh >> 8, seventh & 255, eighth >> 8, eighth & 255].join(".");
  }
  return groups.slice(0, 4).map((group) => group.toString(16)).join(":");
}

/** The eight groups of a valid address of IPv6. Its zone is left out. */
function groupsOf(address: string): number[] {
  const [text = ""] = address.split("%", 1);
  const [head = [], tail] = text.split("::", 2).map(readGroups);
  if (tail === undefined) return head;
  const zeros = new Array<number>(Math.max(0, 8 - head.length - tail.length)).fill(0);
  return [...head, ...zeros, ...tail];
}

function readGroups(text: string): number[] {
  if (text === "") return [];
  return text.split(":").flatMap((group) => {
    if (!group.includes(".")) return [parseInt(group, 16)];
    const [a = 0, b = 0, c = 0, d = 0] = group.split(".").map(Number);
    return [a << 8 | b, c << 8 | d];
  });
}

/** A text of bounded length for a caller. */
export function boundedCaller(caller: string | number): string | Promise<string> {
  const text = String(caller);
  return text.length <= MAX_LENGTH ? text : hash(text);
}

async function hash(text: string): Promise<string> {
  const { contentHash } = await load(() => import("../http/files/conditional.ts"));
  return `sha256:${await contentHash(text)}`;
}
