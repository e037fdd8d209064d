/**
 * A package registry on 127.0.0.1, for tests. It accepts what `deno publish` sends without checks,
 * and serves it in the format of JSR (https://jsr.io/docs/api).
 */

import { join } from "node:path";

/** A published version of a package: its files are in the folder. */
interface Version {
  readonly folder: string;
  readonly exports: Readonly<Record<string, string>>;
}

const JSON_TYPE = "application/json";
/** JSR's types of content, by the end of a file's name. */
const CONTENT_TYPES: Readonly<Record<string, string>> = {
  ".ts": "text/typescript",
  ".js": "text/javascript",
  ".json": JSON_TYPE,
  ".md": "text/markdown",
};
/** The time of all publications: long ago, since Deno can be configured to refuse new versions. */
const CREATED_AT = "2026-01-01T00:00:00Z";

/** A running registry. Disposing of it stops it and removes its packages. */
export class Registry implements AsyncDisposable {
  readonly #folder: string;
  readonly #server: Deno.HttpServer<Deno.NetAddr>;
  readonly #packages = new Map<string, Map<string, Version>>();

  private constructor(folder: string) {
    this.#folder = folder;
    this.#server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen() {} }, (request) => this.#answer(request));
  }

  /** Starts an empty registry. */
  static async start(): Promise<Registry> {
    return new Registry(await Deno.makeTempDir({ prefix: "webfw_registry_" }));
  }

  /** The value for the environment variable `JSR_URL`. */
  get url(): string {
    return `http://127.0.0.1:${this.#server.addr.port}/`;
  }

  /** Paths of the files of a version. */
  async files(name: string, version: string): Promise<string[]> {
    const { folder } = this.#version(name, version);
    return (await Array.fromAsync(pathsBelow(folder))).sort();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#server.shutdown();
    await Deno.remove(this.#folder, { recursive: true });
  }

  async #answer(request: Request): Promise<Response> {
    const { pathname, searchParams } = new URL(request.url);
    const [first = "", ...rest] = pathname.slice(1).split("/");
    try {
      if (first === "api") return await this.#answerApi(request, rest, searchParams);
      const [name = "", last = "", ...path] = rest;
      const packageName = `${first}/${name}`;
      if (path.length > 0) return await this.#file(packageName, last, path.join("/"));
      return last === "meta.json"
        ? this.#packageMeta(packageName)
        : await this.#versionMeta(packageName, last.replace(/_meta\.json$/, ""));
    } catch (error) {
      if (!(error instanceof Deno.errors.NotFound)) throw error;
      return Response.json({ code: "notFound", message: error.message }, { status: 404 });
    }
  }

  /** `/api/scopes/<scope>/packages/<name>[/versions/<version>]` */
  async #answerApi(
    request: Request,
    [, scope = "", , name = "", , version]: readonly string[],
    query: URLSearchParams,
  ): Promise<Response> {
    const packageName = `@${scope}/${name}`;
    if (version === undefined) return Response.json({ scope, name });
    if (request.method === "POST") {
      await this.#publish(packageName, version, request, query.get("config") ?? "/deno.json");
      return Response.json({ id: crypto.randomUUID(), status: "success", error: null });
    }
    this.#version(packageName, version);
    return Response.json({ scope, package: name, version });
  }

  async #publish(name: string, version: string, { body }: Request, config: string): Promise<void> {
    const folder = join(this.#folder, name, version);
    await Deno.mkdir(folder, { recursive: true });
    const tar = new Deno.Command("tar", { args: ["-xzf", "-", "-C", folder], stdin: "piped" }).spawn();
    const [, { success }] = await Promise.all([body?.pipeTo(tar.stdin), tar.status]);
    if (!success) throw new Error(`Cannot unpack "${name}@${version}"`);
    const { exports } = JSON.parse(await Deno.readTextFile(join(folder, config)));
    const versions = this.#packages.get(name) ?? new Map<string, Version>();
    versions.set(version, { folder, exports: typeof exports === "string" ? { ".": exports } : exports });
    this.#packages.set(name, versions);
  }

  #packageMeta(packageName: string): Response {
    const versions = [...this.#package(packageName).keys()];
    const [scope, name] = packageName.slice(1).split("/");
    return Response.json({
      scope,
      name,
      latest: versions.at(-1),
      versions: Object.fromEntries(versions.map((version) => [version, { createdAt: CREATED_AT }])),
    });
  }

  async #versionMeta(name: string, version: string): Promise<Response> {
    const { folder, exports } = this.#version(name, version);
    const manifest: Record<string, { size: number; checksum: string }> = {};
    for await (const path of pathsBelow(folder)) {
      const content = await Deno.readFile(join(folder, path));
      const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", content));
      manifest[path] = { size: content.length, checksum: `sha256-${digest.toHex()}` };
    }
    return Response.json({ manifest, exports });
  }

  async #file(name: string, version: string, path: string): Promise<Response> {
    const content = await Deno.readFile(join(this.#version(name, version).folder, path));
    const type = CONTENT_TYPES[/\.\w+$/.exec(path)?.[0] ?? ""] ?? "application/octet-stream";
    return new Response(content, { headers: { "content-type": type } });
  }

  #package(name: string): Map<string, Version> {
    const versions = this.#packages.get(name);
    if (versions === undefined) throw new Deno.errors.NotFound(`No package "${name}"`);
    return versions;
  }

  #version(name: string, version: string): Version {
    const found = this.#package(name).get(version);
    if (found === undefined) throw new Deno.errors.NotFound(`No version "${version}" of "${name}"`);
    return found;
  }
}

/** Paths of all files below a folder, from `/`. */
async function* pathsBelow(folder: string, path = ""): AsyncGenerator<string> {
  for await (const { name, isDirectory } of Deno.readDir(join(folder, path))) {
    if (isDirectory) yield* pathsBelow(folder, `${path}/${name}`);
    else yield `${path}/${name}`;
  }
}
