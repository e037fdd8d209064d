// The programs of the guide: the blocks of `ts` and `tsx` in README.md and docs/. `deno task check`
// checks their types, and tests/examples runs them.

import { basename, dirname, join, relative } from "node:path";

const ROOT = join(import.meta.dirname!, "..", "..");
const DOCS = join(ROOT, "docs");

/** The programs of a page at one point of it. */
export interface Step {
  /** The page without its ending, and the number of the step in it. */
  readonly name: string;
  /** The page, from the root of the repository. */
  readonly page: string;
  /** The source of the programs by file name, also of those from earlier steps but tests. */
  readonly programs: Map<string, string>;
  /** The names of the programs that this step adds, and that run without anything else. */
  readonly runnable: string[];
  /** The console blocks below the programs. */
  readonly consoles: string[];
}

/** All programs of the guide, in a folder that is removed when this is disposed of. */
export class Guide implements AsyncDisposable {
  /** In the repository, so that its `deno.json` is used. git ignores it. */
  readonly folder: string;
  /** In the order of the pages. */
  readonly steps: readonly Step[];

  private constructor(folder: string, steps: readonly Step[]) {
    this.folder = folder;
    this.steps = steps;
  }

  /** Reads all pages, and writes their programs: each step into a folder of its own. */
  static async open(): Promise<Guide> {
    const pages = [join(ROOT, "README.md"), ...await pagesBelow(DOCS)];
    const steps = (await Promise.all(pages.map(readSteps))).flat();
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

  /** The paths of all programs that need no generated module, from the folder of the guide. */
  get files(): string[] {
    return this.steps.flatMap(({ name: folder, programs }) =>
      [...programs].filter(([, text]) => importsOf(text).every((name) => programs.has(name)))
        .map(([name]) => join(folder, name))
    );
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Deno.remove(this.folder, { recursive: true });
  }
}

/** The Markdown files in a folder and in those below it. */
async function pagesBelow(folder: string): Promise<string[]> {
  const pages: string[] = [];
  for await (const { name, isDirectory } of Deno.readDir(folder)) {
    if (isDirectory) pages.push(...await pagesBelow(join(folder, name)));
    else if (name.endsWith(".md")) pages.push(join(folder, name));
  }
  return pages.sort();
}

/** The names of the modules of its own page that a program imports. */
function importsOf(text: string): string[] {
  return Array.from(text.matchAll(/ from "\.\/(.+)";$/gm), ([, name]) => name!);
}

/**
 * Reads the programs of a page. A program with its file name in the first line is there for all
 * that follow, and one with a name that came before begins a new step. A block without a name is a
 * step of its own.
 */
async function readSteps(page: string): Promise<Step[]> {
  const text = await Deno.readTextFile(page);
  const title = join(relative(ROOT, dirname(page)), basename(page, ".md"));
  const steps: Step[] = [];
  const add = (programs: Step["programs"]): Step => {
    const name = join(title, `${steps.length + 1}`);
    const step = { name, page: relative(ROOT, page), programs, runnable: [], consoles: [] };
    steps.push(step);
    return step;
  };
  let last: Step | undefined;
  let own = new Set<string>();
  for (const [, language, flags, body] of text.matchAll(/^```(\w+)([^\n]*)\n(.*?)^```$/gms)) {
    if (language === "console") {
      if (last === undefined) throw new Error(`${page} has a console block before its first program`);
      last.consoles.push(body!);
      continue;
    }
    if (language !== "ts" && language !== "tsx") continue;
    const name = /^\/\/ ([\w./-]+\.tsx?)\n/.exec(body!)?.[1];
    // An excerpt of an example is no program: tests/examples compares it with its file.
    if (name?.startsWith("examples/")) continue;
    if (name === undefined) {
      const alone = `block.${language}`;
      add(new Map([[alone, body!]])).runnable.push(alone);
      continue;
    }
    if (last === undefined || own.has(name)) {
      own = new Set();
      last = add(new Map([...last?.programs ?? []].filter(([name]) => !name.endsWith("_test.ts"))));
    }
    own.add(name);
    last.programs.set(name, body!);
    if (!flags!.includes("ignore")) last.runnable.push(name);
  }
  return steps;
}
