/** The reference: one page for each entry point, or for each category of a large one. */
import { fileURLToPath } from "node:url";
import { Declarations } from "./declarations.ts";
import type { Page } from "./pages.ts";

/** An entry point with more symbols than this has a page for each category. */
const MAX_SYMBOLS = 60;

/** What `deno doc --json` prints, as far as it is used. */
interface Doc {
  readonly nodes: Readonly<Record<string, Entry>>;
}

interface Entry {
  readonly module_doc?: JsDoc;
  readonly symbols: readonly DocSymbol[];
}

interface DocSymbol {
  readonly name: string;
  readonly declarations: readonly [DocDeclaration, ...DocDeclaration[]];
}

interface DocDeclaration {
  readonly kind: "class" | "function" | "interface" | "typeAlias" | "variable";
  readonly location: { readonly filename: string };
  readonly jsDoc?: JsDoc;
  readonly def:
    & Readonly<Record<"constructors" | "properties" | "methods", readonly DocMember[] | undefined>>
    & { readonly implements?: readonly { readonly repr: string }[] };
}

interface DocMember {
  readonly name: string;
  readonly jsDoc?: JsDoc;
}

interface JsDoc {
  readonly doc?: string;
  readonly tags?: readonly JsDocTag[];
}

interface JsDocTag {
  readonly kind: string;
  readonly doc?: string;
  readonly name?: string;
  readonly value?: string;
  readonly tsType?: { readonly repr: string };
}

/** Where a symbol of an entry point is described. */
interface Place {
  readonly specifier: string;
  readonly slug: string;
  readonly symbol: DocSymbol;
}

/**
 * Writes the reference.
 *
 * @param doc What `deno doc --json` printed.
 * @param exports The entry points: paths of modules by the name after the package.
 * @param packageName The name of the package.
 */
export async function referencePages(
  doc: Doc,
  exports: Readonly<Record<string, string>>,
  packageName: string,
): Promise<Page[]> {
  const places: Place[] = [];
  const pages: { specifier: string; slug: string; title: string; intro: JsDoc | undefined }[] = [];
  for (const [name, module] of Object.entries(exports)) {
    const entry = Object.entries(doc.nodes).find(([url]) => url.endsWith(module.slice(1)))?.[1];
    if (entry === undefined) continue;
    const specifier = packageName + name.slice(1);
    const short = name === "." ? "core" : name.slice(2);
    const categories = entry.symbols.length > MAX_SYMBOLS ? [...new Set(entry.symbols.map(categoryOf))].sort() : [];
    const isSplit = categories.length > 1 && !categories.includes("");
    for (const category of isSplit ? categories : [""]) {
      const slug = `reference/${short}` + (isSplit ? `/${category.toLowerCase().replaceAll(/[^a-z]+/g, "_")}` : "");
      pages.push({
        specifier,
        slug,
        title: isSplit ? category : specifier,
        intro: isSplit ? undefined : entry.module_doc,
      });
      for (const symbol of [...entry.symbols].sort((one, other) => Number(isType(one)) - Number(isType(other)))) {
        if (!isSplit || categoryOf(symbol) === category) places.push({ specifier, slug, symbol });
      }
    }
  }
  const links = new Links(places);
  const declarations = new Declarations();
  return await Promise.all(pages.map(async ({ specifier, slug, title, intro }) => {
    const parts = intro === undefined ? [] : [proseOf(intro, links)];
    const symbols = places.filter((place) => place.slug === slug).map(({ symbol }) => symbol);
    for (const symbol of symbols) parts.push(await symbolText(symbol, specifier, links, declarations, places));
    const description = `The reference of ${title === specifier ? specifier : `${specifier}: ${title.toLowerCase()}`}.`;
    return { slug, title, description, markdown: parts.join("\n\n") };
  }));
}

/** Finds the descriptions of symbols and members by their names. */
class Links {
  readonly #urls = new Map<string, string>();

  constructor(places: readonly Place[]) {
    for (const { slug, symbol: { name, declarations } } of places) {
      const add = (shown: string) => {
        const url = `/${slug}/#${shown.toLowerCase().replaceAll(".", "")}`;
        if (!this.#urls.has(shown)) this.#urls.set(shown, url);
      };
      add(name);
      if (declarations[0].kind === "class") {
        membersOf(declarations[0]).forEach((member) => add(`${name}.${member.name}`));
      }
    }
  }

  /** Replaces the links of docstrings. */
  apply(text: string): string {
    return text.replaceAll(/\{@link(?:code|plain)? ([^}|\s]+)[^}]*\}/g, (_, name: string) => {
      const url = this.#urls.get(name);
      return url === undefined ? `\`${name}\`` : `[\`${name}\`](${url})`;
    });
  }
}

/** Types come after what programs call: most of them are options and results of it. */
function isType({ declarations: [{ kind }] }: DocSymbol): boolean {
  return kind === "interface" || kind === "typeAlias";
}

function categoryOf({ declarations }: DocSymbol): string {
  return tagsOf(declarations[0].jsDoc, "category")[0]?.doc?.trim() ?? "";
}

function tagsOf(jsDoc: JsDoc | undefined, kind: string): readonly JsDocTag[] {
  return jsDoc?.tags?.filter((tag) => tag.kind === kind) ?? [];
}

function membersOf({ def }: DocDeclaration): readonly DocMember[] {
  return [...def.constructors ?? [], ...def.properties ?? [], ...def.methods ?? []];
}

async function symbolText(
  symbol: DocSymbol,
  specifier: string,
  links: Links,
  declarations: Declarations,
  places: readonly Place[],
): Promise<string> {
  const [first] = symbol.declarations;
  const found = await declarations.of(fileURLToPath(first.location.filename), symbol.name);
  if (found.length === 0) throw new Error(`Cannot build the site: ${specifier} has no declaration of ${symbol.name}`);
  const parts = [`## ${symbol.name}`, code(found.map(({ text }) => text).join("\n")), proseOf(first.jsDoc, links)];
  for (const { jsDoc } of symbol.declarations.slice(1)) parts.push(proseOf(jsDoc, links));
  const described = membersOf(first);
  for (const { name, text } of found[0]!.members) {
    const jsDoc = described.find((member) => member.name === name)?.jsDoc ?? inheritedDoc(first, name, places);
    if (jsDoc?.doc === undefined) continue;
    parts.push(`### ${symbol.name}.${name}`, code(text), proseOf(jsDoc, links));
  }
  return parts.filter((part) => part !== "").join("\n\n");
}

/** The docstring that a member of a class has in an interface that the class implements. */
function inheritedDoc({ def }: DocDeclaration, name: string, places: readonly Place[]): JsDoc | undefined {
  const names = def.implements?.map(({ repr }) => repr) ?? [];
  return places.filter(({ symbol }) => names.includes(symbol.name))
    .flatMap(({ symbol }) => membersOf(symbol.declarations[0]))
    .find((member) => member.name === name)?.jsDoc;
}

function code(text: string): string {
  return `\`\`\`ts\n${text}\n\`\`\``;
}

/** A docstring: its text, then what each tag says. */
function proseOf(jsDoc: JsDoc | undefined, links: Links): string {
  const lines = (kind: string, line: (tag: JsDocTag) => string) => tagsOf(jsDoc, kind).map(line).join("\n");
  const text = (tag: JsDocTag) => tag.doc?.trim().replaceAll("\n", " ") ?? "";
  const examples = tagsOf(jsDoc, "example").map(({ doc = "" }) => {
    const [title = "", ...body] = doc.split("\n");
    return `**Example: ${title}**\n\n${body.join("\n")}`;
  });
  return [
    jsDoc?.doc?.trim() ?? "",
    lines("param", (tag) => `- \`${tag.name}\`: ${text(tag)}`),
    lines("return", (tag) => `- Returns: ${text(tag)}`),
    lines("default", (tag) => `- Default: \`${tag.value}\` ${text(tag)}`),
    lines("throws", (tag) => `- Throws \`${tag.tsType?.repr ?? "Error"}\`: ${text(tag)}`),
    ...examples,
  ].filter((part) => part !== "").map((part) => links.apply(part)).join("\n\n");
}
