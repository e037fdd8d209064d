/** The command that prints what an application asks of its environment. */

import { runForOutput } from "../child.ts";
import type { Command, Invocation } from "../command.ts";
import { CONFIG, denoArguments, TARGET, TARGET_DETAILS } from "../launch.ts";
import { toFlags } from "../permission_flags.ts";
import { PermissionsRunner, type Setting, SettingsRunner, type Unaudited } from "../runner/env.ts";

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
is imported, with values that are made up for missing variables, and nothing is started.

--permissions runs the application until it listens, with its lifespans, consumers and crons,
and with the permission to do everything. It prints the flags for what was asked for until
then: requests may need more.

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

/**
 * Flags that refuse what no program asks for. Without them, Deno (2.9) looks at nothing where all
 * is allowed, and its audit says that each file that is read is also written.
 */
const AUDITED = ["read", "write"].map((name) =>
  `--deny-${name}=${Deno.build.os === "windows" ? "Z:" : ""}/.webfw/none`
);

/** The result of a runner; undefined if it has ended without one. */
function read<Result>(output: Uint8Array): Result | undefined {
  const line = new TextDecoder().decode(output).trimEnd().split("\n").at(-1);
  return line ? JSON.parse(line) : undefined;
}

/** The lines of a file that `deno run --env-file` reads. Optional settings are comments. */
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

/**
 * A value as `--env-file` reads it back. It knows no escapes of quotes, but three kinds of them.
 */
function quoteValue(value: string): string {
  if (/^[\w.,:/@+-]*$/.test(value)) return value;
  const mark = ["'", "`"].find((mark) => !value.includes(mark)) ?? '"';
  return `${mark}${value}${mark}`;
}
