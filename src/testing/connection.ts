/** The connection of a test client that has an address. */
import { readAddress } from "../http/host.ts";
import { quote } from "../base/options.ts";

/** The connection of a client, as Deno's server describes it. */
export interface TestConnection {
  /** The address of the client. */
  readonly remoteAddr: Deno.NetAddr;
}

/** A port that clients use. */
const PORT = 50_000;

/** @throws {TypeError} If it is no IP address. */
export function connectionFrom(address: unknown): TestConnection {
  const hostname = typeof address === "string" ? readAddress(address) : undefined;
  if (hostname === undefined) {
    throw new TypeError(
      `Cannot make a test client: "address" must be an IP address such as "203.0.113.7", got ${quote(address)}`,
    );
  }
  return { remoteAddr: { transport: "tcp", hostname, port: PORT } };
}
