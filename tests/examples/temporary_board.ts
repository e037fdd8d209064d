/** A node of the boards with a folder of its own, for tests. */
import type { App } from "@webfw/core";
import { TestClient } from "@webfw/core/testing";
import { join } from "node:path";
import { board } from "../../examples/board/board.ts";
import type * as attachments from "../../examples/board/attachments.ts";
import type * as cards from "../../examples/board/cards.ts";
import type { Card, User } from "../../examples/board/models.ts";
import type { State } from "../../examples/board/state.ts";
import type * as presence from "../../examples/board/presence.ts";
import type * as signIn from "../../examples/board/sign_in.ts";
import type * as teams from "../../examples/board/teams.ts";

/** The routes that the typed client calls. */
export type Api = typeof attachments & typeof cards & typeof presence & typeof signIn & typeof teams;

export const ADMIN = { authorization: `Bearer ${"a".repeat(32)}` };
export const INBOX_SECRET = "whsec_MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=";
export const PASSWORD = "correct horse battery";

export class TemporaryBoard implements AsyncDisposable {
  readonly app: App<State>;
  readonly folder: string;
  readonly #clients: TestClient<Api>[] = [];

  private constructor(folder: string) {
    this.folder = folder;
    this.app = board({
      BOARD_DATA: folder,
      BOARD_ADMIN_TOKEN: "a".repeat(32),
      BOARD_INBOX_SECRET: INBOX_SECRET,
      BOARD_TIME_ZONE: "UTC",
      BOARD_HOSTS: ["localhost"],
      BOARD_PROXIES: 0,
      BOARD_SCRIPT: join(folder, "board.js"),
    });
  }

  static async open(): Promise<TemporaryBoard> {
    const folder = await Deno.makeTempDir({ prefix: "board_" });
    await Deno.writeTextFile(join(folder, "board.js"), "// the script");
    return new TemporaryBoard(folder);
  }

  /** A client without a session. */
  client(headers: Readonly<Record<string, string>> = {}): TestClient<Api> {
    const client = new TestClient<Api>(this.app, { base: "http://localhost/v1", cookies: true, headers });
    this.#clients.push(client);
    return client;
  }

  /** Registers a user, who is signed in. */
  async register(name: string): Promise<{ client: TestClient<Api>; user: User }> {
    const client = this.client();
    const body = { email: `${name}@example.com`, name, password: PASSWORD };
    return { client, user: await client.api.post("/register", { body }) };
  }

  /** Ada with a team and a board. */
  async openBoard(): Promise<{ ada: TestClient<Api>; user: User; teamId: number; boardId: number }> {
    const { client: ada, user } = await this.register("ada");
    const { id: teamId } = await ada.api.post("/teams", { body: { name: "Engines" } });
    const { id: boardId } = await ada.api.post("/teams/{teamId}/boards", { teamId, body: { name: "Notes" } });
    return { ada, user, teamId, boardId };
  }

  /** All mails so far. */
  async mails(): Promise<string[]> {
    await this.app.consumers.idle();
    const folder = join(this.folder, "mails");
    const names = (await Array.fromAsync(Deno.readDir(folder))).map(({ name }) => name).sort();
    return await Promise.all(names.map((name) => Deno.readTextFile(join(folder, name))));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const client of this.#clients) await client.close();
    await this.app.stop();
    await Deno.remove(this.folder, { recursive: true });
  }
}

/** A card without what each test has differently. */
export function brief({ title, column, version }: Card): [string, string, number] {
  return [title, column, version];
}
