/** The routes of the documentation page. What they serve is loaded when it is first asked for: most processes never show it. */
import type { HttpRequest } from "../../http/request.ts";
import { assetPath, ASSETS } from "./asset.ts";
import type { DocsPageOptions } from "./page.ts";

/** What is served at one path, to GET. */
export interface DocsRoute {
  /** The path, as of a route. */
  readonly path: string;
  /** Answers a request. */
  readonly handler: (request: HttpRequest<unknown>) => Promise<Response>;
}

/**
 * The page and the files it loads, which are served below its path.
 *
 * @param options What the page is about, and where.
 */
export function docsRoutes(options: DocsPageOptions): readonly DocsRoute[] {
  const page: DocsRoute = {
    path: options.docsUrl,
    handler: async (request) => (await import("./page.ts")).answerPage(request, options),
  };
  const assets = ASSETS.map((name): DocsRoute => ({
    path: assetPath(options.docsUrl, name),
    handler: async (request) => (await import("./page.ts")).answerAsset(request, name),
  }));
  return [page, ...assets];
}
