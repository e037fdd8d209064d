/** The programs of docs/client.md, for tests. */
import { assert } from "@std/assert";
import type { App } from "@webfw/core";
import { dirname, join } from "node:path";
import { pathToFileURL } from "node:url";

const ROOT = join(import.meta.dirname!, "..", "..");
/** The address in the programs. */
const ADDRESS = "http://127.0.0.1:8000";

/** The programs of the guide, in a folder that is removed when this is disposed of. */
export class ClientGuide implements AsyncDisposable {
  /** In the repository, so that its `deno.json` is used. git ignores it. */
  readonly folder: string;
  /** The texts of the programs by the names in their first lines. */
  readonly programs: ReadonlyMap<string, string>;

  private constructor(folder: string, programs: ReadonlyMap<string, string>) {
    this.folder = folder;
    this.programs = programs;
  }

  /** Reads the guide. Its server is written into the folder. */
  static async open(): Promise<ClientGuide> {
    const text = await Deno.readTextFile(join(ROOT, "docs", "client.md"));
    const named = text.matchAll(/^```\w+(?: ignore)?\n((?:\/\/|#) ([\w.]+)\n.*?)^```$/gms);
    const folder = join(ROOT, ".webfw", `client_guide_${crypto.randomUUID()}`);
    await Deno.mkdir(folder, { recursive: true });
    const guide = new ClientGuide(folder, new Map(Array.from(named, ([, program, name]) => [name!, program!])));
    await guide.write("books.ts", folder);
    return guide;
  }

  /** Loads its server, anew for each guide. */
  async server(): Promise<App> {
    const { app } = await import(pathToFileURL(join(this.folder, "books.ts")).href);
    return app;
  }

  /** Writes a program into a folder, which calls the server at an origin. */
  async write(name: string, folder: string, origin: string = ADDRESS): Promise<void> {
    const program = this.programs.get(name);
    assert(program !== undefined, `The guide has no program ${name}`);
    await Deno.mkdir(dirname(join(folder, name)), { recursive: true });
    await Deno.writeTextFile(join(folder, name), program.replaceAll(ADDRESS, origin));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Deno.remove(this.folder, { recursive: true });
  }
}
