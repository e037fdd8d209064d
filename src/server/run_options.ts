/** The options of `run()`. */
import { checkOptions, type Duration, type OptionNames, quote } from "../base/options.ts";
import type { WorkerPorts } from "../store/memory/worker_store.ts";

/**
 * Where a server listens.
 *
 * @ignore
 */
export interface ListenAddress {
  /** The address, or the path of a Unix socket. */
  readonly hostname: string;
  /** The port; 0 for a Unix socket. */
  readonly port: number;
}

/**
 * Where an application listens, and how it stops.
 *
 * @category Applications
 */
export interface RunOptions {
  /**
   * The port; 0 for a free one.
   *
   * @default {8000} The environment variable `PORT`, if the program may read it; else 8000
   */
  port?: number;
  /**
   * The address to listen on. `"0.0.0.0"` accepts connections from other machines.
   *
   * @default {"127.0.0.1"} The environment variable `WEBFW_HOST`, if the program may read it; else
   * 127.0.0.1
   */
  hostname?: string;
  /** Stops the server when it aborts. */
  signal?: AbortSignal;
  /** The certificate chain in PEM, for HTTPS. */
  cert?: string;
  /** The private key in PEM, for HTTPS. */
  key?: string;
  /** The path of a Unix socket, instead of a port. */
  path?: string;
  /**
   * How long requests in flight, handlers and publishes may continue after a stop begins. A body
   * that has not arrived after 2 seconds is refused with 503. In the second half of the period,
   * replies are cut off once all requests have replies and no client reads a streamed reply: of
   * other replies, the server cannot see how far they were read.
   *
   * @default {10000} 10 s; 4 s on Deno Deploy, which kills after 5 seconds
   */
  gracePeriod?: Duration;
  /**
   * How long the server still accepts requests after a stop begins, until load balancers notice:
   * `readyUrl` is 503, and replies carry `Connection: close`. The grace period follows. A second
   * signal ends the delay.
   *
   * @default {0}
   */
  drainDelay?: Duration;
  /**
   * Whether the platform compresses replies of 64 bytes or more for clients that accept it. Entity
   * tags become weak; in `If-Match`, handlers find the tags that they sent. Event streams, ranges,
   * compressed replies and `Cache-Control: no-transform` are left unchanged.
   *
   * Do not compress a secret together with a client's input: the length can reveal it.
   *
   * @default {false}
   */
  compress?: boolean;
  /** Called when the server listens. By default the address is logged. */
  onListen?: (address: ListenAddress) => void;
  /**
   * Whether other workers or processes may listen on the same port. The system then spreads
   * connections over them. Only on Linux; Deno needs `--unstable-net`.
   *
   * @default {false}
   */
  reusePort?: boolean;
  /** The ports to the other workers; `webfw run --workers` sets them. */
  workers?: WorkerPorts;
  /**
   * Whether each request is logged with its status and duration.
   *
   * @default {false}
   */
  accessLog?: boolean;
}

const RUN_OPTIONS: OptionNames<RunOptions> = {
  port: true,
  hostname: true,
  signal: true,
  cert: true,
  key: true,
  path: true,
  gracePeriod: true,
  drainDelay: true,
  compress: true,
  onListen: true,
  reusePort: true,
  workers: true,
  accessLog: true,
};

export function checkRunOptions(options: RunOptions): void {
  checkOptions(options, RUN_OPTIONS, "run the App");
  const { compress = false } = options;
  if (typeof compress === "boolean") return;
  throw new TypeError(`Cannot run the App: "compress" must be true or false, got ${quote(compress)}`);
}
