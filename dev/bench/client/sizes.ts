// The sizes of the client in pages: minified and gzipped, in bytes.

import { basename, join } from "node:path";
import { gzipSync } from "node:zlib";
import { bundle } from "../../tools/bundle.ts";

const PROGRAMS = join(import.meta.dirname!, "programs");

/** The sizes of the client. */
export interface Sizes {
  /** What a page loads that only calls routes: its file, and those that it imports at once. */
  calls: number;
  /** Everything in one file. */
  everything: number;
  /** The files that are loaded on first use, by their names. */
  parts: ReadonlyMap<string, number>;
}

/** Bundles the client, and measures the files. */
export async function measureSizes(): Promise<Sizes> {
  const folder = await Deno.makeTempDir({ prefix: "webfw_client_" });
  try {
    const [split, whole] = [join(folder, "split"), join(folder, "whole")];
    await bundle(join(PROGRAMS, "calls.ts"), split, { splits: true, minifies: true });
    await bundle(join(PROGRAMS, "everything.ts"), whole, { splits: false, minifies: true });
    const first = await filesAtOnce(join(split, "calls.js"));
    const parts = new Map<string, number>();
    for await (const { name } of Deno.readDir(split)) {
      if (!first.has(join(split, name))) parts.set(name.replace(/-\w+\.js$/, ""), await gzippedSize(join(split, name)));
    }
    let calls = 0;
    for (const file of first) calls += await gzippedSize(file);
    return { calls, everything: await gzippedSize(join(whole, "everything.js")), parts };
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

/** A file, and those that it imports before it runs. */
async function filesAtOnce(entry: string): Promise<ReadonlySet<string>> {
  const files = new Set([entry]);
  for (const file of files) {
    const source = await Deno.readTextFile(file);
    // An `import()` has a parenthesis before its specifier.
    for (const [, name = ""] of source.matchAll(/(?:from|import)\s*"\.\/([^"]+)"/g)) {
      files.add(join(file, "..", basename(name)));
    }
  }
  return files;
}

async function gzippedSize(file: string): Promise<number> {
  return gzipSync(await Deno.readFile(file)).length;
}
