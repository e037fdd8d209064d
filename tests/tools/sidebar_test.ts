// The site has each page of the guide. It is built each night; this runs with each change.

import { assertEquals } from "@std/assert";
import { join } from "node:path";
import sidebar from "../../dev/site/sidebar.json" with { type: "json" };

const DOCS = join(import.meta.dirname!, "..", "..", "docs");

async function pages(folder: string): Promise<string[]> {
  const found: string[] = [];
  for await (const { name, isDirectory } of Deno.readDir(join(DOCS, folder))) {
    if (isDirectory) found.push(...await pages(`${folder}${name}/`));
    else if (name.endsWith(".md")) found.push(folder + name.slice(0, -".md".length));
  }
  return found;
}

Deno.test("the sidebar of the site names each page of the guide once", async () => {
  const named = sidebar.flatMap(({ items }) => items);
  assertEquals(named.toSorted(), (await pages("")).toSorted());
});
