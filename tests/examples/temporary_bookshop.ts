/** The bookshop with a new database, for tests. */
import { TestClient } from "@webfw/core/testing";
import { join } from "node:path";
import { bookshop } from "../../examples/bookshop/bookshop.ts";

/** Headers of Ada, who buys. */
export const ADA = { authorization: "Bearer ada" };
/** Headers of Grace, who is a clerk of the shop "corner". */
export const GRACE = { authorization: "Bearer grace" };

/** Books of the shop "corner". */
export const MIDDLEMARCH = "9780141439549";
export const FRANKENSTEIN = "9780141439471";
export const DRACULA = "9780141439846";
/** A book of the shop "harbour". */
export const MOBY_DICK = "9780142437247";

/** A client of a bookshop. Disposing of it closes the database and removes the folder. */
export class TemporaryBookshop extends TestClient {
  /** The folder of the database file. */
  readonly folder: string;

  private constructor(folder: string) {
    super(bookshop(join(folder, "shop.sqlite")));
    this.folder = folder;
  }

  /** Opens a bookshop with a new database file. */
  static async open(): Promise<TemporaryBookshop> {
    return new TemporaryBookshop(await Deno.makeTempDir({ prefix: "bookshop_" }));
  }

  override async [Symbol.asyncDispose](): Promise<void> {
    await super.close();
    await Deno.remove(this.folder, { recursive: true });
  }
}
