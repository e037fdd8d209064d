// The documents that tools are tried with, and the applications that they describe.

import type { App } from "@webfw/core";
import { join } from "node:path";
import { bookshop } from "../../examples/bookshop/bookshop.ts";
import { hostileApp } from "./hostile_app.ts";
import { museumApp } from "./museum_app.ts";

/** Documents as files, in a folder that is removed when this is disposed of. */
export class Documents implements AsyncDisposable {
  /** Has a folder for each application, with its `document.json`. */
  readonly folder: string;
  readonly bookshop: ReturnType<typeof bookshop>;
  readonly hostile: App;
  readonly museum: App;

  private constructor(folder: string) {
    this.folder = folder;
    this.bookshop = bookshop(join(folder, "bookshop.sqlite"));
    this.hostile = hostileApp();
    this.museum = museumApp();
  }

  /** Writes those of the example, of the hostile application and of the usual one. */
  static async write(): Promise<Documents> {
    const documents = new Documents(await Deno.makeTempDir({ prefix: "webfw_describe_" }));
    await documents.add("bookshop", documents.bookshop.openapi());
    await documents.add("hostile", documents.hostile.openapi());
    await documents.add("museum", documents.museum.openapi());
    return documents;
  }

  /** Writes one more document. */
  async add(name: string, document: unknown): Promise<void> {
    await Deno.mkdir(join(this.folder, name));
    await Deno.writeTextFile(join(this.folder, name, "document.json"), JSON.stringify(document));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Deno.remove(this.folder, { recursive: true });
  }
}
