// Runs Deno's type checker over modules in a new folder, and reads the reported faults.

import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { prepareDeno } from "../../dev/tools/deno.ts";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));

/** A fault as the compiler reports it. */
export interface Fault {
  /** The compiler's number of the fault, such as `TS2322`. */
  code: string;
  /** The underlined text, or the word where it starts. */
  at: string;
  /** The first line of the report. */
  message: string;
}

/**
 * One report, from its number to its place in the module. Related information follows, further
 * indented.
 */
const REPORT = /^(TS\d+) \[ERROR\]: (\S.*)\n(?:.*\n)*?(.*)\n( *)(~+|\^)\n {4}at (\S+):\d+:\d+$/gm;

/**
 * Checks modules all at once, as modules of the repository's resolution and options, and returns
 * the faults of each.
 */
export async function typeCheck(modules: readonly string[]): Promise<Fault[][]> {
  const folder = await Deno.realPath(await Deno.makeTempDir({ prefix: "webfw_types_" }));
  try {
    const files = modules.map((_, index) => join(folder, `${index}.ts`));
    await Promise.all(files.map((file, index) => Deno.writeTextFile(file, modules[index]!)));
    const report = await check(files);
    const faults = new Map(files.map((file) => [pathToFileURL(file).href, [] as Fault[]]));
    let unread = report.match(/^TS\d+ \[ERROR\]: \S/gm)?.length ?? 0;
    for (const [, code, message, line, indent, underline, url] of report.matchAll(REPORT)) {
      const rest = line!.slice(indent!.length);
      const at = underline === "^" ? /^(?:\w+|.)/.exec(rest)![0] : rest.slice(0, underline!.length);
      faults.get(url!)?.push({ code: code!, at, message: message! });
      if (faults.has(url!)) unread--;
    }
    if (unread > 0) throw new Error(`The check reports what is no fault of the modules:\n${report}`);
    return [...faults.values()];
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

/** The report of `deno check`; empty without faults. */
async function check(files: string[]): Promise<string> {
  await using prepared = await prepareDeno(["check", "--quiet", ...files], {
    cwd: ROOT,
    env: { NO_COLOR: "1" },
    stdin: "null",
  });
  const { success, stderr } = await prepared.command.output();
  const report = new TextDecoder().decode(stderr);
  if (success) return "";
  if (!report.includes("error: Type checking failed")) throw new Error(`The check does not run:\n${report}`);
  return report;
}
