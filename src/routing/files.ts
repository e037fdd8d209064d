/** Folders of files, for the paths that no route answers. */
import { load } from "../base/async_context.ts";
import type { None, PreparedDependency } from "../binding/dependency.ts";
import { contextOf } from "../http/request.ts";
import type { ServedFolder } from "../http/files/folder.ts";
import type { RouteInfo } from "../http/route_info.ts";
import { type OptionNames, quote, readOptions } from "../base/options.ts";
import type { Segment } from "./path.ts";
import { Route, type RouteParts, routeParts } from "./route.ts";
import type { FreePrefix, PathNames } from "./route_options.ts";
import type { Scope } from "./scope.ts";

/** Options of `files`. */
export interface FilesOptions {
  /**
   * The page of a single-page application, such as `"index.html"`: a file of the folder. A path
   * without a route or file gets it if the client accepts HTML, as browsers do that open a page.
   * Below the prefix of a router or include, such paths stay 404.
   */
  spa?: string;
  /**
   * The files whose content never changes, because their names do: folders below the root, or a
   * function of the path in the root. Caches keep them for a year, and revalidate all others.
   *
   * @default {"assets/"} if `spa` is given; else no file
   */
  immutable?: string | readonly string[] | ((path: string) => boolean);
}

/**
 * Serves a folder of files: their type, `ETag`, conditions and ranges are those of `file()`.
 *
 * Routes come first, in any order: a file answers a GET or HEAD that no route answers. The
 * middleware and the guards of the scopes run before it.
 *
 * - A folder with `index.html` shows that page.
 * - Clients that accept it get `app.js.br` or `app.js.gz` in place of `app.js`.
 * - Files whose names begin with a dot are not served, nor are links to them or out of the folder.
 *
 * @ignore
 */
export interface RegisterFiles<Prefix extends string, Given = None> {
  /**
   * Serves a folder.
   *
   * @param path The path. `"/"` is for the root of the application or router.
   * @param folder The folder. A relative path begins at the working directory of the program; for
   * one next to the module, write `new URL("dist/", import.meta.url)`.
   * @param options Which files never change, and the page for unknown paths.
   * @throws {TypeError} If an option is wrong.
   * @throws {RouteError} With code `conflict`, if a folder, a mount or a route for GET takes all
   * below the path; with code `path`, if the path is malformed; with code `frozen` after the first
   * request or include.
   */
  <const Path extends string>(
    path: FreePrefix<Path, PathNames<`${Prefix}${Path}`>, keyof Given>,
    folder: string | URL,
    options?: FilesOptions,
  ): void;
}

const FILES_OPTIONS: OptionNames<FilesOptions> = { spa: true, immutable: true };

const OPTIONS: RouteInfo["options"] = { hidden: true };

/** The folder in which build tools put files whose names have a hash of their content. */
const ASSETS = "assets/";

export class FilesRoute extends Route {
  /** See {@linkcode FilesRoute.starts}. */
  readonly deps: ReadonlyMap<string, PreparedDependency> = new Map();
  readonly #folder: ServedFolder;

  private constructor(parts: RouteParts, folder: ServedFolder) {
    super(parts, async (request) => {
      const context = contextOf(request);
      const rest = context.values[context.matched.names.length];
      const { folderReply } = await load(() => import("../http/files/folder.ts"));
      return await folderReply(folder, { context, rest, ...context.fallThrough! });
    });
    this.#folder = folder;
  }

  /**
   * @param path The path with the prefix of the router; empty for the root.
   * @throws {TypeError} If an option is wrong.
   */
  static files(path: string, root: unknown, options: FilesOptions, scope: Scope): FilesRoute {
    const action = `serve files at "${path}"`;
    const { spa, immutable = spa === undefined ? [] : ASSETS } = readOptions(options, FILES_OPTIONS, action);
    if (!(root instanceof URL) && (typeof root !== "string" || root === "")) {
      throw new TypeError(`Cannot ${action}: the folder must be a path or a URL, got ${quote(root)}`);
    }
    if (spa !== undefined && (typeof spa !== "string" || !/^[^/]/.test(spa))) {
      throw new TypeError(
        `Cannot ${action}: "spa" must be the name of a file in the folder, such as "index.html", got ${quote(spa)}`,
      );
    }
    const parts = routeParts("GET", path, OPTIONS, "", scope, []);
    return new FilesRoute(parts, { root, spa, isImmutable: readImmutable(immutable, action) });
  }

  get starts(): readonly (() => Promise<void>)[] {
    return [async () => {
      const { checkFolder } = await load(() => import("../http/files/folder.ts"));
      await checkFolder(this.#folder, this.name);
    }];
  }

  override get path(): string {
    return `${this.template.text}/{path...}`;
  }

  override get name(): string {
    return `the files at "${this.template.text || "/"}"`;
  }

  override get shapes(): readonly string[] {
    return [`${this.template.shape}/{...}`];
  }

  override get patterns(): readonly (readonly Segment[])[] {
    const { segments } = this.template;
    return [segments, [...segments, { kind: "literal", text: "" }], [...segments, { kind: "rest", name: "" }]];
  }

  /** Whether a path is below one of some prefixes, which are below its own. */
  isBelow(prefixes: readonly string[], path: string): boolean {
    const own = `${this.template.text}/`;
    return prefixes.some((prefix) => prefix.startsWith(own) && `${path}/`.startsWith(`${prefix}/`));
  }

  override with(changed: Partial<RouteParts>): FilesRoute {
    return new FilesRoute({ ...this.parts, ...changed }, this.#folder);
  }
}

function readImmutable(immutable: NonNullable<FilesOptions["immutable"]>, action: string): (path: string) => boolean {
  if (typeof immutable === "function") return immutable;
  const folders = typeof immutable === "string" ? [immutable] : immutable;
  if (!Array.isArray(folders) || !folders.every((folder) => typeof folder === "string" && /^[^/]/.test(folder))) {
    throw new TypeError(
      `Cannot ${action}: "immutable" must be folders below the root, such as "assets/", or a function, got ${
        quote(immutable)
      }`,
    );
  }
  const starts = folders.map((folder) => folder.endsWith("/") ? folder : `${folder}/`);
  return (path) => starts.some((start) => path.startsWith(start));
}
