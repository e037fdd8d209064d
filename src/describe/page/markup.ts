/** The markup of the documentation page: what is different from application to application, and nothing that runs. */

/** What the page shows and loads. All URLs are relative to the page, so that a proxy may serve it below a prefix. */
export interface PageParts {
  /** The title of the application. */
  readonly title: string;
  /** Where the document is. */
  readonly openapiUrl: string;
  /** Where the paths of the document start. */
  readonly rootUrl: string;
  /** Style sheets, in their order. */
  readonly styles: readonly string[];
  /** Scripts, in their order. */
  readonly scripts: readonly string[];
}

/** A drawing of a document, so that browsers do not look for an icon at `/favicon.ico`. */
const ICON = "<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 16 16'>" +
  "<path fill='#1b1b1b' d='M3 0h7l4 4v12H3z'/><path stroke='#fff' d='M5 6.5h6M5 9.5h6M5 12.5h4'/></svg>";

/** The page, as HTML. */
export function pageMarkup({ title, openapiUrl, rootUrl, styles, scripts }: PageParts): string {
  const lines = [
    "<!doctype html>",
    '<html lang="en">',
    "<head>",
    '<meta charset="utf-8">',
    '<meta name="viewport" content="width=device-width, initial-scale=1">',
    `<title>${escape(title)}</title>`,
    `<link rel="icon" href="data:image/svg+xml,${encodeURIComponent(ICON)}">`,
    ...styles.map((url) => `<link rel="stylesheet" href="${escape(url)}">`),
    ...scripts.map((url) => `<script src="${escape(url)}" defer></script>`),
    "</head>",
    "<body>",
    `<div id="docs" data-openapi-url="${escape(openapiUrl)}" data-root-url="${escape(rootUrl)}">`,
    `<h1>${escape(title)}</h1>`,
    `<p>The <a href="${escape(openapiUrl)}">OpenAPI document</a> of this application.</p>`,
    "<noscript><p>This page needs JavaScript to show it.</p></noscript>",
    "</div>",
    "</body>",
    "</html>",
  ];
  return lines.join("\n") + "\n";
}

/**
 * The URL that leads from one path of the application to another.
 *
 * @param from The path of the page, starting with a slash and not encoded.
 * @param to The path to reach, likewise.
 */
export function relativeUrl(from: string, to: string): string {
  const folder = from.split("/").slice(0, -1);
  const target = to.split("/");
  const mostShared = Math.min(folder.length, target.length - 1);
  let shared = 0;
  while (shared < mostShared && folder[shared] === target[shared]) shared++;
  const up = "../".repeat(folder.length - shared);
  // Without the dot, a name with a colon would be read as a scheme.
  return (up || "./") + target.slice(shared).map(encodeURIComponent).join("/");
}

/** Makes a text safe between tags and in a quoted attribute. */
function escape(text: string): string {
  return text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
}
