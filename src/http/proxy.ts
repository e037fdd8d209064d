/** Trusted proxies, and the address, scheme and host that they report. */
import { load } from "../base/async_context.ts";
import { log } from "../log/log.ts";
import { checkOptions, type OptionNames, quote } from "../base/options.ts";
import { nodeNet } from "../base/runtime.ts";
import { type Forwarded, readBasePath } from "./connection.ts";
import type { Hop } from "./forwarded.ts";
import { isLoopbackName, readAddress, readAuthority } from "./host.ts";

/**
 * @ignore The number or the addresses of the proxies, or {@linkcode ProxyOptions}; `false` for
 * none.
 */
export type TrustProxy = number | false | readonly string[] | ProxyOptions;

/**
 * The proxies in front of an application, and the headers that they write. Give `hops` or `from`.
 *
 * @category Applications
 */
export interface ProxyOptions {
  /**
   * The number of proxies that each request passes, up to 32. No one else may be able to
   * connect to the application. It also applies to a Unix socket, and to `app.fetch` without a
   * connection.
   */
  hops?: number;
  /**
   * The addresses or networks of the proxies, such as `"10.0.0.0/8"` and `"fd00::/8"`. Headers of
   * other senders are ignored.
   */
  from?: readonly string[];
  /**
   * The headers that the proxies write: `X-Forwarded-For`, `X-Forwarded-Proto`, `X-Forwarded-Host`
   * and `X-Forwarded-Prefix`, or `Forwarded` of RFC 7239. The others are ignored: a client can send
   * them through a proxy that does not know them.
   *
   * @default {"x-forwarded"}
   */
  header?: "x-forwarded" | "forwarded";
}

const OPTIONS: OptionNames<ProxyOptions> = { hops: true, from: true, header: true };

/** No chain of proxies is longer. It bounds the work for long headers. */
const MAX_HOPS = 32;

/** Headers that proxies, load balancers and tunnels add. */
const FORWARDING =
  /^(?:via|(?:x-)?forwarded(?:-.+)?|x-(?:original|envoy|real|azure|cluster|appengine)-.+|.*client-?ip|cf-(?:ray|connecting-.+)|cdn-loop)$/;

const LOOPBACK_ADDRESS = /^(?:::ffff:)?127\.|^::1$/;

export class ProxyTrust {
  /** Undefined if proxies are known by their addresses. */
  readonly #hops: number | undefined;
  /** Undefined if proxies are known by their number. */
  readonly #from: import("node:net").BlockList | undefined;
  readonly #header: "x-forwarded" | "forwarded";
  readonly #takesHost: boolean;
  #readHops: ((headers: Headers) => Iterable<Hop>) | undefined;
  #hasWarned = false;

  /** With `takesHost`, the host that proxies report counts, so it has to be checked. */
  constructor(trust: TrustProxy | undefined, takesHost: boolean) {
    const { hops = 0, from, header = "x-forwarded" } = readTrust(trust);
    if (header !== "x-forwarded" && header !== "forwarded") {
      throw new TypeError(
        `Cannot set trustProxy: the header must be "x-forwarded" or "forwarded", got ${quote(header)}`,
      );
    }
    this.#hops = hops === 0 ? undefined : hops;
    this.#from = from && readNetworks(from);
    this.#header = header;
    this.#takesHost = takesHost;
  }

  /** Loads the parser of the headers, before the first request. */
  async open(): Promise<void> {
    if (!this.isSet || this.#readHops) return;
    const { forwardedHops, xForwardedHops } = await load(() => import("./forwarded.ts"));
    this.#readHops = this.#header === "forwarded" ? forwardedHops : xForwardedHops;
  }

  get isSet(): boolean {
    return this.#hops !== undefined || this.#from !== undefined;
  }

  /**
   * What trusted proxies report; undefined for a request of no trusted proxy. `peer` is null for a
   * Unix socket, and without a network.
   */
  forwarded(headers: Headers, peer: string | null): Forwarded | undefined {
    if (!this.#isTrusted(peer, 0)) return undefined;
    const hops = this.#readHops!(headers);
    let address = peer;
    let scheme: Hop["scheme"];
    let host: string | undefined;
    let prefix: string | undefined;
    let passed = 0;
    for (const hop of hops) {
      scheme = hop.scheme ?? scheme;
      if (this.#takesHost && hop.host !== undefined && readAuthority(hop.host)) host = hop.host;
      if (hop.prefix !== undefined) prefix = readBasePath(hop.prefix) ?? prefix;
      if (hop.address === undefined) break;
      address = hop.address;
      if (++passed === MAX_HOPS || !this.#isTrusted(address, passed)) break;
    }
    return { address, scheme, host, prefix };
  }

  /** Warns once of a proxy that is not trusted, where the address of a client matters. */
  warnOfUnknown(headers: Headers): void {
    if (this.#hasWarned || this.isSet || !headers.has("x-forwarded-for")) return;
    this.#hasWarned = true;
    log("warn", "Requests have X-Forwarded-For, and trustProxy of the App is not set: the proxy counts as the client");
  }

  /** Whether a proxy is trusted, behind `passed` others. */
  #isTrusted(address: string | null, passed: number): boolean {
    if (this.#hops !== undefined) return passed < this.#hops;
    const known = address === null ? undefined : readAddress(address);
    if (known === undefined || this.#from === undefined) return false;
    return this.#from.check(known, known.includes(":") ? "ipv6" : "ipv4");
  }
}

/** Null for a Unix socket, and without a network. */
export function peerAddress(address: Deno.Addr | undefined): string | null {
  return address && "hostname" in address ? address.hostname : null;
}

/** Whether the client is on this machine. A page can send the headers of a proxy, too. */
export function isDirectLoopback(headers: Headers, peer: string | null): boolean {
  if (peer === null || !LOOPBACK_ADDRESS.test(peer)) return false;
  for (const name of headers.keys()) if (FORWARDING.test(name)) return false;
  return true;
}

/** Whether a request comes from this machine, and names it as its host. */
export function isLocalRequest(headers: Headers, peer: string | null, host: string): boolean {
  return isLoopbackName(readAuthority(host)?.name) && isDirectLoopback(headers, peer);
}

function readTrust(trust: TrustProxy | undefined): ProxyOptions {
  if (trust === undefined || trust === false) return {};
  if (Array.isArray(trust)) return readTrust({ from: trust });
  const options = typeof trust === "number" ? { hops: trust } : trust as ProxyOptions;
  if (typeof options !== "object" || options === null) {
    const wanted = 'it must be the number of proxies, or an array such as ["10.0.0.0/8"]';
    throw new TypeError(`Cannot set trustProxy: ${wanted}, got ${quote(trust)}`);
  }
  checkOptions(options, OPTIONS, "set trustProxy");
  const { hops, from } = options;
  if ((hops === undefined) === (from === undefined)) {
    throw new TypeError('Cannot set trustProxy: give either "hops", the number of proxies, or "from", their addresses');
  }
  if (hops !== undefined && !(Number.isInteger(hops) && hops >= 0 && hops <= MAX_HOPS)) {
    throw new RangeError(
      `Cannot set trustProxy: the number of proxies must be from 0 to ${MAX_HOPS}, got ${quote(hops)}`,
    );
  }
  return options;
}

function readNetworks(networks: readonly string[]): import("node:net").BlockList {
  const { BlockList } = nodeNet();
  const list = new BlockList();
  if (!Array.isArray(networks)) {
    throw new TypeError(
      `Cannot set trustProxy: "from" must be an array such as ["10.0.0.0/8"], got ${quote(networks)}`,
    );
  }
  for (const network of networks) {
    const [, text = "", bits] = /^([\da-f:.]+)(?:\/(\d{1,3}))?$/i.exec(String(network)) ?? [];
    const version = nodeNet().isIP(text);
    const width = version === 4 ? 32 : 128;
    const prefix = bits === undefined ? width : Number(bits);
    const address = readAddress(text);
    if (version === 0 || address === undefined || prefix > width) {
      throw new TypeError(
        `Cannot set trustProxy: ${quote(network)} is neither an address nor a network, write it like "10.0.0.0/8"`,
      );
    }
    // An IPv4 network that is written as IPv6.
    const isMapped = version === 6 && !address.includes(":") && prefix >= 96;
    if (version === 4 || isMapped) list.addSubnet(address, isMapped ? prefix - 96 : prefix, "ipv4");
    else list.addSubnet(text, prefix, "ipv6");
  }
  return list;
}
