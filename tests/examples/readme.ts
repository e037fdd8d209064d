/** The fenced blocks of the README, for tests. */
import { assert, assertEquals } from "@std/assert";
import { join } from "node:path";
import { prepareDeno } from "../../dev/tools/deno.ts";
import { Webfw } from "../cli/webfw.ts";

export const README: string = await Deno.readTextFile(join(import.meta.dirname!, "..", "..", "README.md"));

/** The fenced blocks of a language in a page. */
export function blocks(language: string, page = README): string[] {
  return [...page.matchAll(new RegExp(`^\`\`\`${language}\n(.*?)^\`\`\`$`, "gms"))].map((match) => match[1]!);
}

/** The programs of the README, by the file names in their first lines. */
export function programs(): Map<string, string> {
  return new Map(
    blocks("ts").map((text) => {
      const name = /^\/\/ (\w+\.ts)\n/.exec(text)?.[1];
      assert(name !== undefined, `A program does not begin with the name of its file:\n${text}`);
      return [name, text];
    }),
  );
}

/** Writes files into a folder. */
export async function writeFiles(folder: string, files: ReadonlyMap<string, string>): Promise<void> {
  assertEquals(files.size > 0, true);
  await Promise.all([...files].map(([name, text]) => Deno.writeTextFile(join(folder, name), text)));
}

/** Works in an empty folder, which is removed afterwards. */
export async function inFolder(work: (folder: string) => Promise<void>): Promise<void> {
  const folder = await Deno.realPath(await Deno.makeTempDir({ prefix: "readme_" }));
  try {
    await work(folder);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

/** Starts Deno in a folder. */
export async function startDeno(args: string[], cwd: string, env: Record<string, string> = {}): Promise<Webfw> {
  await using prepared = await prepareDeno(args, {
    cwd,
    env: { NO_COLOR: "1", ...env },
    stdin: "null",
    stdout: "piped",
    stderr: "piped",
  });
  return new Webfw(prepared.command.spawn());
}
