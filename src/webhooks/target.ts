/** Where webhooks may be sent: the checks of their URLs and of the addresses of hosts. */
import { quote } from "../base/options.ts";
import { nodeNet } from "../base/runtime.ts";

/** Ports of other protocols, which HTTP must not reach (the Fetch Standard, section 2.9). */
const BAD_PORTS: ReadonlySet<string> = new Set(
  ("0 1 7 9 11 13 15 17 19 20 21 22 23 25 37 42 43 53 69 77 79 87 95 101 102 103 104 109 110 111 113 115 117 119 123 " +
    "135 137 139 143 161 179 389 427 465 512 513 514 515 526 530 531 532 540 548 554 556 563 587 601 636 989 990 993 " +
    "995 1719 1720 1723 2049 3659 4045 4190 5060 5061 6000 6566 6665 6666 6667 6668 6669 6679 6697 10080").split(" "),
);

/**
 * IPv4 addresses that are not those of public hosts (IANA's registry of special-purpose addresses),
 * and the one by which Azure serves its virtual machines.
 */
const PRIVATE_V4: readonly (readonly [network: string, prefix: number])[] = [
  ["0.0.0.0", 8],
  ["10.0.0.0", 8],
  ["100.64.0.0", 10],
  ["127.0.0.0", 8],
  ["168.63.129.16", 32],
  ["169.254.0.0", 16],
  ["172.16.0.0", 12],
  ["192.0.0.0", 24],
  ["192.0.2.0", 24],
  ["192.88.99.0", 24],
  ["192.168.0.0", 16],
  ["198.18.0.0", 15],
  ["198.51.100.0", 24],
  ["203.0.113.0", 24],
  ["224.0.0.0", 4],
  ["240.0.0.0", 4],
];

/** Public hosts have IPv6 addresses of this network alone: it has no mapped ones, and no NAT64. */
const GLOBAL_V6 = ["2000::", 3] as const;
/** Parts of it that are not public, or contain IPv4 addresses: Teredo and 6to4. */
const PRIVATE_V6: readonly (readonly [network: string, prefix: number])[] = [
  ["2001::", 23],
  ["2001:db8::", 32],
  ["2002::", 16],
  ["3fff::", 20],
];

interface Networks {
  readonly refused: import("node:net").BlockList;
  readonly global: import("node:net").BlockList;
}

let networks: Networks | undefined;

/** Whether an IP address may be that of a public host. */
export function isPublic(address: string): boolean {
  const { refused, global } = networks ??= makeNetworks();
  const version = nodeNet().isIP(address);
  if (version === 4) return !refused.check(address, "ipv4");
  // The zone of a link-local address is not parsed.
  return version === 6 && !address.includes("%") && global.check(address, "ipv6") && !refused.check(address, "ipv6");
}

function makeNetworks(): Networks {
  const { BlockList } = nodeNet();
  const refused = new BlockList();
  for (const [network, prefix] of PRIVATE_V4) refused.addSubnet(network, prefix, "ipv4");
  for (const [network, prefix] of PRIVATE_V6) refused.addSubnet(network, prefix, "ipv6");
  const global = new BlockList();
  global.addSubnet(...GLOBAL_V6, "ipv6");
  return { refused, global };
}

/** The host without the brackets of an IPv6 address. */
export function hostOf({ hostname }: URL): string {
  return hostname.replace(/^\[(.*)\]$/, "$1");
}

/**
 * Checks what the URL alone shows. The message never has the URL, which may contain a secret.
 *
 * @returns The URL without a fragment.
 * @throws {TypeError} If it cannot be that of a receiver.
 */
export function checkTarget(url: unknown, allowPrivate: boolean, action: string): URL {
  const refuse = (reason: string): never => {
    throw new TypeError(`Cannot ${action}: ${reason}`);
  };
  const target = typeof url === "string" || url instanceof URL ? URL.parse(url) : null;
  if (!target) return refuse('the url must be an absolute URL, such as "https://partner.example/hooks"');
  if (target.protocol !== "https:" && target.protocol !== "http:") {
    return refuse(`the url must begin with https:// or http://, got ${quote(target.protocol)}`);
  }
  if (target.username + target.password !== "") {
    return refuse("the url has a user or a password, leave them out: the signature is the proof of the sender");
  }
  if (BAD_PORTS.has(target.port)) {
    return refuse(`the url has the port ${target.port}, which is that of another protocol than HTTP`);
  }
  const host = hostOf(target);
  const isLocal = nodeNet().isIP(host) === 0 ? /(?:^|\.)localhost\.?$/.test(host) : !isPublic(host);
  if (isLocal && !allowPrivate) return refuse(privateHost(host));
  target.hash = "";
  return target;
}

export function privateHost(host: string): string {
  return `${host} has no public address, set webhooks: { allowPrivate: true } of the App for receivers in its own network`;
}
