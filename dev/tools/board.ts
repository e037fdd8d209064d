// Writes src/board/page.json, the script and the style of the board: one file, so that an
// application that shows its board downloads no package for it.

import { join } from "node:path";
import { bundle } from "./bundle.ts";

const ROOT = join(import.meta.dirname!, "..", "..");
const FOLDER = join(ROOT, "dev", "board");

/** The file that the board reads. */
export const PAGE_JSON: string = join(ROOT, "src", "board", "page.json");

/** The most that the page may take, compressed. */
export const MAX_COMPRESSED: number = 120_000;

/** The text of the file: the bundled script and the style, by their names. */
export async function pageJson(): Promise<string> {
  const folder = await Deno.makeTempDir({ prefix: "board_" });
  try {
    await bundle(join(FOLDER, "board.tsx"), folder, { splits: false, minifies: true });
    const script = await Deno.readTextFile(join(folder, "board.js"));
    const plots = (await import("npm:uplot@^1.6.32/dist/uPlot.min.css", { with: { type: "text" } })).default;
    const style = plots + await Deno.readTextFile(join(FOLDER, "board.css"));
    return `${JSON.stringify({ "board.js": script, "board.css": style }, null, 2)}\n`;
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

/** The bytes of both files, compressed by gzip. */
export async function compressedSize(json: string): Promise<number> {
  let size = 0;
  for (const text of Object.values<string>(JSON.parse(json))) {
    const stream = new Blob([text]).stream().pipeThrough(new CompressionStream("gzip"));
    size += (await new Response(stream).bytes()).length;
  }
  return size;
}

if (import.meta.main) {
  const json = await pageJson();
  await Deno.writeTextFile(PAGE_JSON, json);
  console.log(`The page has ${await compressedSize(json)} bytes, compressed`);
}
