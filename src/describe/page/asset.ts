/** The files that the documentation page loads, by their names. */

/** All of them, in the order in which the page names them. */
export const ASSETS = ["swagger-ui.css", "page.css", "swagger-ui.js", "page.js"] as const;

/** The name of one. */
export type AssetName = typeof ASSETS[number];

/** The path of a file. */
export function assetPath(docsUrl: string, name: AssetName): string {
  return docsUrl.endsWith("/") ? docsUrl + name : `${docsUrl}/${name}`;
}
