// `deno task site`: builds the guide and the reference as a static site in dev/site/dist.
//
// SITE_URL is the address at which it is published, such as https://example.com/webfw.

import { dirname, join } from "node:path";
import { prepareDeno } from "../deno.ts";
import { readRootConfig } from "../offline_config.ts";
import { brokenLinks } from "./links.ts";
import { writeForAgents } from "./llms.ts";
import { atBase, type Page, readPages } from "./pages.ts";
import { referencePages } from "./reference.ts";
import sidebar from "../../site/sidebar.json" with { type: "json" };

const ROOT = join(import.meta.dirname!, "..", "..", "..");
const SITE = join(ROOT, "dev", "site");
const DIST = join(SITE, "dist");
const BASE = new URL(Deno.env.get("SITE_URL") ?? "http://localhost").pathname.replace(/\/$/, "");
const CONTENT = join(SITE, "src", "content", "docs");

/** The guide and the reference. */
async function allPages(): Promise<Page[]> {
  const { name, exports } = await readRootConfig(ROOT);
  await using prepared = await prepareDeno(["doc", "--json", ...Object.values(exports)], { cwd: ROOT });
  const { success, stdout, stderr } = await prepared.command.output();
  if (!success) throw new Error(`Cannot build the site: deno doc failed: ${new TextDecoder().decode(stderr)}`);
  const doc = JSON.parse(new TextDecoder().decode(stdout));
  return [...await readPages(ROOT, takeImage), ...await referencePages(doc, exports as Record<string, string>, name)];
}

/** Images lie in a folder of their own, beside the pages. */
async function takeImage(path: string): Promise<string> {
  const copy = join(SITE, "public", path);
  await Deno.mkdir(dirname(copy), { recursive: true });
  await Deno.copyFile(join(ROOT, path), copy);
  return `/${path}`;
}

async function write({ slug, title, description, markdown }: Page): Promise<void> {
  const head = Object.entries({ title, description, slug })
    .filter(([, value]) => value !== undefined)
    .map(([key, value]) => `${key}: ${JSON.stringify(value)}`);
  const file = join(CONTENT, `${slug}.md`);
  await Deno.mkdir(dirname(file), { recursive: true });
  await Deno.writeTextFile(file, `---\n${head.join("\n")}\n---\n\n${markdown.trim()}\n`);
}

/** The slugs of the sidebar by group. Readers never find a page that it does not name. */
function groupsOf(pages: readonly Page[]): Record<string, string[]> {
  const slugs = pages.map(({ slug }) => slug).filter((slug) => !slug.startsWith("source/"));
  const reference = slugs.filter((slug) => slug.startsWith("reference/"));
  const groups = Object.fromEntries(sidebar.map(({ label, items }) => [label, items]));
  const named = new Set([...Object.values(groups).flat(), ...reference]);
  const missing = slugs.filter((slug) => !named.has(slug));
  if (missing.length > 0) throw new Error(`Cannot build the site: sidebar.json must name ${missing.join(", ")}`);
  return { ...groups, Reference: reference };
}

async function run(command: string, ...args: string[]): Promise<void> {
  const env = { ASTRO_TELEMETRY_DISABLED: "1" };
  const { success } = await new Deno.Command(command, { args, cwd: SITE, env }).spawn().status;
  if (!success) throw new Error(`Cannot build the site: ${command} ${args.join(" ")} failed`);
}

/**
 * A table that scrolls sideways on a narrow screen must be reached by a keyboard, too (WCAG 2.1.1),
 * and an empty cell is no heading (1.3.1).
 */
async function mendTables(folder: string): Promise<void> {
  for await (const entry of Deno.readDir(folder)) {
    const path = join(folder, entry.name);
    if (entry.isDirectory) await mendTables(path);
    if (!entry.name.endsWith(".html")) continue;
    const html = await Deno.readTextFile(path);
    await Deno.writeTextFile(
      path,
      html.replaceAll("<table>", '<table tabindex="0">').replaceAll("<th></th>", "<td></td>"),
    );
  }
}

/** Installs Astro, which needs a folder of packages, with npm or without. */
async function install(): Promise<void> {
  try {
    await run("npm", "install", "--no-save", "--ignore-scripts", "--no-audit", "--no-fund", "--silent");
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
    await run(Deno.execPath(), "install");
  }
}

await Deno.remove(CONTENT, { recursive: true }).catch(() => {});
const pages = (await allPages()).map((page) => atBase(page, BASE));
const groups = groupsOf(pages);
for (const page of pages) await write(page);
await install();
await run(Deno.execPath(), "run", "-A", join("node_modules", "astro", "bin", "astro.mjs"), "build");
await mendTables(DIST);
await writeForAgents(DIST, pages, groups, BASE);
const broken = await brokenLinks(DIST, BASE);
if (broken.length > 0) throw new Error(`Cannot build the site: ${broken.length} broken links\n${broken.join("\n")}`);
console.log(`${pages.length} pages in ${DIST}`);
