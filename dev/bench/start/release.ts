// The framework as a release has it: its bundles, in a copy of the repository.

import { join } from "node:path";
import { bundleRelease } from "../../tools/bundle_release.ts";
import { stageWorkspace } from "../../tools/staged_workspace.ts";

const ROOT = join(import.meta.dirname!, "..", "..", "..");

/** A copy of the repository whose programs run the bundles; disposing of it removes it. */
export class Release implements AsyncDisposable {
  readonly #folder: string;

  private constructor(folder: string) {
    this.#folder = folder;
  }

  /** Copies the repository, and bundles the framework. */
  static async make(): Promise<Release> {
    const release = new Release(await stageWorkspace(ROOT));
    try {
      await bundleRelease(release.#folder);
      const { exports, imports, ...config } = JSON.parse(await Deno.readTextFile(release.#config));
      const text = JSON.stringify({ ...config, exports, imports: { ...imports, [config.name]: exports["."] } });
      await Deno.writeTextFile(release.#config, text);
      return release;
    } catch (error) {
      await release[Symbol.asyncDispose]();
      throw error;
    }
  }

  get #config(): string {
    return join(this.#folder, "deno.json");
  }

  /** The command of a program of the repository, of which the copy is run. The flags are Deno's own. */
  command(file: string, ...flags: string[]): string[] {
    const copy = join(this.#folder, file.slice(ROOT.length));
    return [Deno.execPath(), "run", "--config", this.#config, "-A", ...flags, copy];
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Deno.remove(this.#folder, { recursive: true });
  }
}
