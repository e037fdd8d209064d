/** Prints the settings or the permissions of an application. */
import { CONFIG, denoArguments, runForOutput, TARGET, TARGET_DETAILS } from "../launch.ts";
import { type Command, type Invocation, KV_FLAG } from "../command.ts";
import { PermissionsRunner, type Setting, SettingsRunner, type Unaudited } from "../runner/env.ts";
import { isAbsolute, relative, resolve } from "node:path";

export const ENV: Command = {
  name: "env",
  summary: "Print the settings of an application as a file .env.example, or its permissions",
  operand: TARGET,
  options: [
    { name: "permissions", description: "Start the application, stop it, and print the flags that it needs" },
    CONFIG,
  ],
  takesDenoFlags: true,
  details: `The settings are those that the module and its imports declare by settings(). The module
is imported, with placeholders for missing variables, but nothing is started.

--permissions starts the application with all permissions, with its lifespans, consumers and
crons, and stops it when it listens. It prints the flags for the permissions that were used
until then: requests may need more.

${TARGET_DETAILS}`,
  examples: [
    "webfw env main.ts > .env.example",
    "webfw env main.ts --permissions",
    "webfw env main.ts --permissions -- --env-file",
  ],
  run: (invocation) =>
    invocation.switches.has("permissions") ? printPermissions(invocation) : printSettings(invocation),
};

async function printSettings(invocation: Invocation): Promise<number> {
  const { code, output } = await runForOutput(await denoArguments(invocation, { runner: SettingsRunner, options: {} }));
  const settings: readonly Setting[] = read(output) ?? [];
  if (settings.length > 0) console.log(toExample(settings));
  else if (code === 0) console.error(`The module "${invocation.operand}" declares no settings()`);
  return code;
}

async function printPermissions(invocation: Invocation): Promise<number> {
  const audit = await Deno.makeTempFile({ prefix: "webfw_audit_" });
  try {
    const launch = { runner: PermissionsRunner, options: {}, flags: AUDITED };
    const { code, output } = await runForOutput(await denoArguments(invocation, launch), {
      DENO_AUDIT_PERMISSIONS: audit,
    });
    const unaudited = read<Unaudited>(output);
    if (code !== 0 || unaudited === undefined) return code || 1;
    console.log(toFlags(await Deno.readTextFile(audit), unaudited, Deno.cwd()).join(" "));
    return 0;
  } finally {
    await Deno.remove(audit);
  }
}

/** An unused path. With everything allowed, the audit of Deno (2.9) reports reads as writes. */
const AUDITED = ["read", "write"].map((name) =>
  `--deny-${name}=${Deno.build.os === "windows" ? "Z:" : ""}/.webfw/none`
);

function read<Result>(output: Uint8Array): Result | undefined {
  const line = new TextDecoder().decode(output).trimEnd().split("\n").at(-1);
  return line ? JSON.parse(line) : undefined;
}

/** For `deno run --env-file`. Optional settings are comments. */
function toExample(settings: readonly Setting[]): string {
  const byName = new Map<string, Setting>();
  for (const setting of settings) {
    if (!byName.get(setting.name)?.isRequired) byName.set(setting.name, setting);
  }
  return [...byName.values()].map(({ name, isRequired, type, description, default: value = "" }) => {
    const words = `${isRequired ? "Required" : "Optional"}: ${type}`;
    const comments = [...description?.split("\n") ?? [], words].map((line) => `# ${toLine(line)}`);
    const lines = `${name}=${quoteValue(value)}`.split("\n");
    return [...comments, ...lines.map((line) => isRequired ? line : `# ${line}`)].join("\n");
  }).join("\n\n");
}

function toLine(text: string): string {
  return text.replaceAll(/[\r\n]+/g, " ").trim();
}

/** `--env-file` has three kinds of quotes and no escapes. */
function quoteValue(value: string): string {
  if (/^[\w.,:/@+-]*$/.test(value)) return value;
  const mark = ["'", "`"].find((mark) => !value.includes(mark)) ?? '"';
  return `${mark}${value}${mark}`;
}

/** A line of `DENO_AUDIT_PERMISSIONS`, version 1. */
interface Access {
  readonly permission: string;
  /** Null: all values. */
  readonly value: string | null;
}

const ORDER = ["read", "write", "net", "env", "sys", "run", "ffi", "import"];

/** Allowed by default. The flag replaces them. */
const IMPORT_HOSTS: ReadonlySet<string> = new Set([
  "deno.land:443",
  "jsr.io:443",
  "esm.sh:443",
  "raw.esm.sh:443",
  "cdn.jsdelivr.net:443",
  "raw.githubusercontent.com:443",
  "gist.githubusercontent.com:443",
]);

/** Prints paths below the directory relative to it. */
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

/** Undefined if the framework does not require the access. */
function toValue(permission: string, value: string, port: string, directory: string): string | undefined {
  switch (permission) {
    case "read":
    case "write":
    case "ffi":
      // The framework reads its command line only if it has all permissions.
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

function withoutInner(permission: string, values: readonly string[]): readonly string[] {
  if (permission !== "read" && permission !== "write") return values;
  return values.filter((path) =>
    !values.some((folder) => folder !== path && (path.startsWith(`${folder}/`) || folder === "." && !isAbsolute(path)))
  );
}

function quote(flag: string): string {
  return /^[\w@%+=:,./-]+$/.test(flag) ? flag : `'${flag.replaceAll("'", `'\\''`)}'`;
}
