/** Makes permission flags of the accesses that Deno has audited. */

import { isAbsolute, relative, resolve } from "node:path";
import type { Unaudited } from "./runner/env.ts";

/** A line of the file that `DENO_AUDIT_PERMISSIONS` names, in version 1 of its format. */
interface Access {
  readonly permission: string;
  /** Null for all values. */
  readonly value: string | null;
}

/** Enables Deno KV, which stores durable topics. */
export const KV_FLAG = "--unstable-kv";

/** In the order of Deno's own help. */
const ORDER = ["read", "write", "net", "env", "sys", "run", "ffi", "import"];

/** Programs may import from these hosts without a flag, and the flag takes their place. */
const IMPORT_HOSTS: ReadonlySet<string> = new Set([
  "deno.land:443",
  "jsr.io:443",
  "esm.sh:443",
  "raw.esm.sh:443",
  "cdn.jsdelivr.net:443",
  "raw.githubusercontent.com:443",
  "gist.githubusercontent.com:443",
]);

/**
 * The flags that allow what a program has asked for.
 *
 * @param audit The lines of the audit.
 * @param unaudited What is not in it.
 * @param directory Paths below it are written relative to it.
 */
export function toFlags(audit: string, { urls, programs, opensKv, port }: Unaudited, directory: string): string[] {
  const accesses: Access[] = [
    ...audit.split("\n").filter((line) => line !== "").map((line): Access => JSON.parse(line)),
    ...urls.filter((url) => /^https?:/.test(url)).map((value) => ({ permission: "net", value })),
    ...programs.map((value) => ({ permission: "run", value })),
  ];
  const kinds = Map.groupBy(accesses, ({ permission }) => permission);
  const ranked = [...kinds].sort(([one], [other]) => ORDER.indexOf(one) - ORDER.indexOf(other));
  const flags = ranked.flatMap(([permission, found]) => {
    if (found.some(({ value }) => value === null)) return [`--allow-${permission}`];
    const texts = found.map(({ value }) => toValue(permission, value!, port, directory));
    const values = withoutInner(permission, [...new Set(texts.filter((text) => text !== undefined))].sort());
    if (permission === "import" && values.every((host) => IMPORT_HOSTS.has(host))) return [];
    return values.length === 0 ? [] : [quote(`--allow-${permission}=${values.join(",")}`)];
  });
  return opensKv ? [KV_FLAG, ...flags] : flags;
}

/** The value of a flag; undefined for what the framework can do without. */
function toValue(permission: string, value: string, port: string, directory: string): string | undefined {
  switch (permission) {
    case "read":
    case "write":
    case "ffi":
      // The framework looks at its own command line only if the program may do everything.
      return value.startsWith("/proc/self/") ? undefined : toPath(value, directory);
    case "net":
    case "import":
      // The server listened on a free port.
      return toHost(value).replace(/:0$/, `:${port}`);
    default:
      return value.replaceAll(",", ",,");
  }
}

function toPath(path: string, directory: string): string {
  const within = relative(directory, resolve(directory, path));
  const isBelow = !within.startsWith("..") && !isAbsolute(within);
  return (isBelow ? within || "." : resolve(directory, path)).replaceAll(",", ",,");
}

function toHost(address: string): string {
  if (!address.includes("://")) return address;
  const { hostname, port, protocol } = new URL(address);
  return `${hostname}:${port || (/^(?:https|wss):$/.test(protocol) ? "443" : "80")}`;
}

/** Leaves out paths in folders that are listed themselves. */
function withoutInner(permission: string, values: readonly string[]): readonly string[] {
  if (permission !== "read" && permission !== "write") return values;
  return values.filter((path) =>
    !values.some((folder) => folder !== path && (path.startsWith(`${folder}/`) || folder === "." && !isAbsolute(path)))
  );
}

/** A flag as a shell takes it. */
function quote(flag: string): string {
  return /^[\w@%+=:,./-]+$/.test(flag) ? flag : `'${flag.replaceAll("'", `'\\''`)}'`;
}
