/** A folder with the files of a user's project, for tests. */

import { dirname, join } from "node:path";

/** A temporary folder. Disposing of it removes it. */
export class Project implements AsyncDisposable {
  /** Its path, without symbolic links. */
  readonly path: string;

  private constructor(path: string) {
    this.path = path;
  }

  /** Makes a folder with these files; values that are no text are written as JSON. */
  static async create(files: Readonly<Record<string, unknown>>): Promise<Project> {
    const project = new Project(await Deno.realPath(await Deno.makeTempDir({ prefix: "webfw_cli_" })));
    for (const [name, content] of Object.entries(files)) {
      await project.write(name, content);
    }
    return project;
  }

  /** Writes a file; a value that is no text is written as JSON. */
  async write(name: string, content: unknown): Promise<void> {
    const path = join(this.path, name);
    await Deno.mkdir(dirname(path), { recursive: true });
    await Deno.writeTextFile(path, typeof content === "string" ? content : JSON.stringify(content));
  }

  /** Removes a file. */
  async remove(name: string): Promise<void> {
    await Deno.remove(join(this.path, name));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Deno.remove(this.path, { recursive: true });
  }
}
