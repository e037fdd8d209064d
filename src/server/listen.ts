/** The address of a server: its options, else environment variables, else 127.0.0.1:8000. */
import { CannotStartError } from "../base/errors.ts";
import { quote } from "../base/options.ts";
import { HttpServer, type ListenOptions } from "./http_server.ts";
import { log } from "../log/log.ts";
import { mayRead, readVariable } from "../base/runtime.ts";
import type { ListenAddress, RunOptions } from "./run_options.ts";

/** The environment does not apply to a Unix socket. Throws if PORT is needed and invalid. */
export function listenOptions(options: RunOptions): ListenOptions {
  const { path, cert, key, reusePort = false } = options;
  const scheme = cert === undefined ? "http" : "https";
  const announce = options.onListen ??
    ((address) => log("info", `Listening on ${path ? address.hostname : toUrl(scheme, address)}`));
  if (path !== undefined) return { path, onListen: () => announce({ hostname: path, port: 0 }) };
  // An empty variable counts as not set.
  const givenPort = options.port === undefined && readVariable("PORT") || undefined;
  const givenHost = options.hostname ?? (readVariable("WEBFW_HOST") || undefined);
  return {
    port: options.port ?? (givenPort === undefined ? 8000 : parsePort(givenPort)),
    hostname: givenHost ?? "127.0.0.1",
    onListen: ({ hostname, port }) => {
      announce({ hostname, port });
      // A platform that sets PORT connects from another machine, and would only report a timeout.
      if (givenPort !== undefined && givenHost === undefined) {
        log("info", "Only this machine can connect: set WEBFW_HOST=0.0.0.0 to be reached from others");
      }
    },
    reusePort,
    ...(cert === undefined || key === undefined ? {} : { cert, key }),
  };
}

/** If it cannot listen on the address, the error names the address in one line. */
export function openServer(options: ListenOptions, handler: Deno.ServeHandler): HttpServer {
  try {
    return new HttpServer(options, handler);
  } catch (error) {
    const { path, hostname = "", port } = options;
    const address = path ?? `${inUrl(hostname)}:${port}`;
    const obstacle = path === undefined && error instanceof Deno.errors.NotCapable
      ? `the program may not, allow it by --allow-net=${address}${unreadHint()}`
      : obstacleOf(error, path === undefined ? "port" : "path");
    if (obstacle === undefined || !(error instanceof Error)) throw error;
    error.message = `Cannot listen on ${address}: ${obstacle}`;
    // A stack trace of the framework does not help to find the other program.
    error.stack = `${error.name}: ${error.message}`;
    throw error;
  }
}

/** Variables without read permission count as not set. */
function unreadHint(): string {
  const unread = ["PORT", "WEBFW_HOST"].filter((name) => !mayRead(name));
  return unread.length === 0 ? "" : `, and by --allow-env=${unread.join()} where they name another address`;
}

/** The reason and the cure; undefined for other errors. */
function obstacleOf(error: unknown, what: "port" | "path"): string | undefined {
  if (error instanceof Deno.errors.AddrInUse) {
    const choose = what === "port"
      ? "choose another one by the option port or the variable PORT"
      : "choose another one";
    return `the ${what} is taken, stop the program that has it, or ${choose}`;
  }
  if (error instanceof Deno.errors.AddrNotAvailable) return "this machine has no such address, choose one that it has";
  if (error instanceof Deno.errors.PermissionDenied) return `the system forbids this ${what}, choose another one`;
  if (error instanceof URIError || error instanceof Error && /\blookup address\b/.test(error.message)) {
    return "no such host is known, name an address of this machine";
  }
  return undefined;
}

function parsePort(text: string): number {
  const port = Number(text);
  if (/^\d+$/.test(text) && port <= 65_535) return port;
  const fault = `${quote(text)} is not a port, set a whole number from 0 to 65535`;
  throw new CannotStartError(`Cannot listen on the port of the variable PORT: ${fault}`);
}

export function addressText(address: Deno.Addr): string {
  if ("hostname" in address) return toUrl("http", address);
  return "path" in address ? address.path : address.transport;
}

function toUrl(scheme: string, { hostname, port }: ListenAddress): string {
  return `${scheme}://${inUrl(hostname)}:${port}`;
}

function inUrl(hostname: string): string {
  return hostname.includes(":") ? `[${hostname}]` : hostname;
}
