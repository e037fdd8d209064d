// The documents that tools are tried with, and the applications that they describe.

import type { App } from "@webfw/core";
import { join } from "node:path";
import { bookshop } from "../../examples/bookshop/bookshop.ts";
import { hostileApp } from "./hostile_app.ts";

/** Documents as files, in a folder that is removed when this is disposed of. */
export class Documents implements AsyncDisposable {
  /** Holds a folder for each application, with its `document.json`. */
  readonly folder: string;
  readonly bookshop: ReturnType<typeof bookshop>;
  readonly hostile: App;

  private constructor(folder: string) {
    this.folder = folder;
    this.bookshop = bookshop(join(folder, "bookshop.sqlite"));
    this.hostile = hostileApp();
  }

  /** Writes those of the example and of the hostile application. */
  static async write(): Promise<Documents> {
    const documents = new Documents(await Deno.makeTempDir({ prefix: "webfw_describe_" }));
    await documents.add("bookshop", documents.bookshop.openapi());
    await documents.add("hostile", documents.hostile.openapi());
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
