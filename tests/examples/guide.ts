/** The pages of docs/ and their programs, for tests. */
import { basename, dirname, join, relative } from "node:path";
import { type Exchange, readExchanges } from "./console_block.ts";

const ROOT = join(import.meta.dirname!, "..", "..");
export const DOCS = join(ROOT, "docs");

/** Pages whose programs have a test of their own. */
const TESTED_ELSEWHERE = new Set(["client.md"]);

/** The programs of a page at one point of it, and the requests that the page sends to them. */
export interface Step {
  /** The page, and the number of the step in it. */
  readonly name: string;
  /** The texts of the programs by their file names, also of those from earlier steps but tests. */
  readonly programs: Map<string, string>;
  readonly exchanges: Exchange[];
}

/** The programs of pages, in a folder that is removed when this is disposed of. */
export class Guide implements AsyncDisposable {
  /** In the repository, so that its `deno.json` is used. git ignores it. */
  readonly folder: string;
  readonly steps: readonly Step[];

  private constructor(folder: string, steps: readonly Step[]) {
    this.folder = folder;
    this.steps = steps;
  }

  /**
   * Reads the pages of a folder, and writes their programs: each step into a folder of its own.
   *
   * @param below The folder in docs/; "." for docs/ itself, without the folders in it.
   */
  static async open(below: string): Promise<Guide> {
    const pages: string[] = [];
    for await (const { name, isFile } of Deno.readDir(join(DOCS, below))) {
      if (isFile && name.endsWith(".md") && !TESTED_ELSEWHERE.has(name)) pages.push(join(DOCS, below, name));
    }
    const steps = (await Promise.all(pages.sort().map(readSteps))).flat();
    const guide = new Guide(join(ROOT, ".webfw", `guide_${crypto.randomUUID()}`), steps);
    for (const step of steps) {
      for (const [name, text] of step.programs) {
        const file = guide.fileOf(step, name);
        await Deno.mkdir(dirname(file), { recursive: true });
        await Deno.writeTextFile(file, text);
      }
    }
    return guide;
  }

  /** The path of a program. */
  fileOf(step: Step, name: string): string {
    return join(this.folder, step.name, name);
  }

  /** The paths of all programs whose names end so, from the folder of the guide. */
  files(suffix: string): string[] {
    return this.steps.flatMap((step) => [...step.programs.keys()].map((name) => join(step.name, name)))
      .filter((file) => file.endsWith(suffix));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Deno.remove(this.folder, { recursive: true });
  }
}

/**
 * Reads the programs of a page, which have their file names in their first lines. A program with a
 * name that came before begins a new step.
 */
async function readSteps(page: string): Promise<Step[]> {
  const text = await Deno.readTextFile(page);
  const title = relative(DOCS, join(dirname(page), basename(page, ".md")));
  const steps: Step[] = [];
  let own = new Set<string>();
  for (const [, language, block] of text.matchAll(/^```(\w+)[^\n]*\n(.*?)^```$/gms)) {
    const name = /^\/\/ ([\w./-]+\.tsx?)\n/.exec(block!)?.[1];
    if (language === "console") {
      const step = steps.at(-1);
      if (!step) throw new Error(`${title} has a console block before its first program`);
      step.exchanges.push(...readExchanges(block!));
    } else if (name !== undefined) {
      const last = steps.at(-1);
      if (!last || own.has(name)) {
        own = new Set();
        const programs = new Map([...last?.programs ?? []].filter(([name]) => !name.endsWith("_test.ts")));
        steps.push({ name: join(title, `${steps.length + 1}`), programs, exchanges: [] });
      }
      own.add(name);
      steps.at(-1)!.programs.set(name, block!);
    }
  }
  return steps;
}
