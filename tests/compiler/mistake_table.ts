// Tables of mistakes: Markdown files that show the code of each mistake, and the compiler's
// message.

import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Fault } from "./type_check.ts";

const FOLDER = fileURLToPath(new URL("./mistakes/", import.meta.url));

/** A mistake that a user can make. */
export interface Mistake {
  /** A title for the mistake. */
  title: string;
  /** The code that makes it. */
  code: string;
  /** The compiler's message; undefined for a new entry of a table. */
  fault: Fault | undefined;
}

/** One file of mistakes. */
export interface MistakeTable {
  /** Its name without the extension. */
  name: string;
  /** The text before the first mistake. */
  intro: string;
  mistakes: Mistake[];
}

/** Reads all tables. */
export async function readTables(): Promise<MistakeTable[]> {
  const names = (await Array.fromAsync(Deno.readDir(FOLDER)))
    .filter(({ name }) => name.endsWith(".md"))
    .map(({ name }) => name.slice(0, -".md".length))
    .toSorted();
  return await Promise.all(names.map(async (name) => {
    const text = await Deno.readTextFile(join(FOLDER, `${name}.md`));
    const [intro = "", ...sections] = text.split(/^## /m);
    return { name, intro, mistakes: sections.map(readMistake) };
  }));
}

/** Writes a table back, in the form in which `deno fmt` leaves it. */
export async function writeTable({ name, intro, mistakes }: MistakeTable): Promise<void> {
  const text = intro + mistakes.map(printMistake).join("\n");
  await Deno.writeTextFile(join(FOLDER, `${name}.md`), text);
}

function readMistake(section: string): Mistake {
  const [, title, code] = /^(.+)\n\n```ts ignore\n([^]+?)\n```\n/.exec(section) ?? [];
  if (title === undefined || code === undefined) throw new Error(`Cannot read the mistake: ${section}`);
  const [, number, at, message] = /^```text\n(TS\d+) at (.+)\n(.+)\n```$/m.exec(section) ?? [];
  const fault = number && at && message ? { code: number, at, message } : undefined;
  return { title, code, fault };
}

function printMistake({ title, code, fault }: Mistake): string {
  const says = fault ? `\n\`\`\`text\n${fault.code} at ${fault.at}\n${fault.message}\n\`\`\`\n` : "";
  return `## ${title}\n\n\`\`\`ts ignore\n${code}\n\`\`\`\n${says}`;
}
