// A folder of a test's own.

import { join } from "node:path";

/** A folder that is removed after its test. */
export class TemporaryFolder implements AsyncDisposable {
  /** Where it is, with links resolved. */
  readonly path: string;

  private constructor(path: string) {
    this.path = path;
  }

  static async make(): Promise<TemporaryFolder> {
    return new TemporaryFolder(await Deno.realPath(await Deno.makeTempDir({ prefix: "webfw_spec_" })));
  }

  /** The path of something in it. */
  within(name: string): string {
    return join(this.path, name);
  }

  /** Writes a file, and returns its path. */
  async write(name: string, content: string): Promise<string> {
    const path = this.within(name);
    await Deno.writeTextFile(path, content);
    return path;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Deno.remove(this.path, { recursive: true });
  }
}
