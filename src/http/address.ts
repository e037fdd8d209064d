/** IP addresses as headers write them. */
import { nodeNet } from "../base/runtime.ts";

/** An address with zone and port is shorter. */
const MAX_NODE = 64;
/**
 * An address, perhaps with a port, which may be a name that starts with `_` (RFC 7239, section 6).
 */
const NODE = /^(?:\[([\da-f:.]+)\]|([\d.]+))(?::[\w.-]+)?$/i;

/**
 * Reads an IP address, perhaps with a port. Undefined for anything else, such as the names
 * `unknown` and `_hidden` of RFC 7239.
 *
 * @param text The text.
 * @returns The address in its shortest form; one of IPv4 that is written as IPv6, as one of IPv4.
 */
export function readAddress(text: string): string | undefined {
  if (text.length > MAX_NODE) return undefined;
  const [, inBrackets, plain] = NODE.exec(text) ?? [];
  const address = inBrackets ?? plain ?? text;
  // An address with a zone means something on the machine of the proxy only.
  const version = address.includes("%") ? 0 : nodeNet().isIP(address);
  if (version !== 6) return version === 4 && inBrackets === undefined ? address : undefined;
  const short = new URL(`http://[${address}]`).hostname.slice(1, -1);
  const [, high, low] = /^::ffff:([\da-f]+):([\da-f]+)$/.exec(short) ?? [];
  if (high === undefined || low === undefined) return short;
  return [high, low].flatMap((half) => [parseInt(half, 16) >> 8, parseInt(half, 16) & 255]).join(".");
}
