/** What agents read: `llms.txt` lists the pages, `llms-full.txt` holds them (https://llmstxt.org). */
import { dirname, join } from "node:path";
import type { Page } from "./pages.ts";

/**
 * Writes both, and each page as Markdown beside its HTML.
 *
 * @param folder Where the site is built.
 * @param pages All pages. Sources of examples are left out of `llms-full.txt`.
 * @param groups The names of the groups, and the slugs of the pages in each, in their order.
 * @param base The path at which the site is published, without a slash at its end.
 */
export async function writeForAgents(
  folder: string,
  pages: readonly Page[],
  groups: Readonly<Record<string, readonly string[]>>,
  base: string,
): Promise<void> {
  const list: string[] = [];
  const full: string[] = [];
  for (const [group, slugs] of Object.entries(groups)) {
    list.push(`\n## ${group}\n`);
    for (const slug of slugs) {
      const page = pages.find((page) => page.slug === slug)!;
      const { title, description } = page;
      list.push(`- [${title}](${base}/${slug}.md)${description === undefined ? "" : `: ${description}`}`);
      full.push(textOf(page));
    }
  }
  for (const page of pages) {
    const file = join(folder, `${page.slug}.md`);
    await Deno.mkdir(dirname(file), { recursive: true });
    await Deno.writeTextFile(file, textOf(page));
  }
  const head = "# webfw\n\n> A web framework for Deno: one declaration of a route gives everything else.\n";
  await Deno.writeTextFile(join(folder, "llms.txt"), `${head}${list.join("\n")}\n`);
  await Deno.writeTextFile(join(folder, "llms-full.txt"), `${head}\n${full.join("\n")}`);
}

function textOf({ title, markdown }: Page): string {
  return `# ${title}\n\n${markdown.trim()}\n`;
}
