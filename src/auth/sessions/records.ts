/** Sessions in the records of the application that serves the request. */
import type { AppHandle } from "../../http/request.ts";
import { type Records, recordsOf } from "../../records/records.ts";
import type { SessionStore, SessionWrite } from "./store.ts";

/** The part of the records that holds sessions. */
const SPACE = "sessions";

/**
 * A store of sessions in the records of the application, which each application that uses the
 * session has of its own.
 *
 * @category Dependencies
 */
export class RecordSessions {
  /**
   * The store of an application.
   *
   * @ignore
   *
   * @param app The application.
   */
  of(app: AppHandle): SessionStore {
    return new SessionRecords(recordsOf(app.records, SPACE));
  }
}

/**
 * A store of sessions in the records of the application (`app.records`): in the store of its
 * durable topics, where all nodes share them, and sessions survive a restart. In an application
 * without such a store they are in the memory of the process, which its workers share.
 *
 * A session has at most 60 KiB of JSON.
 *
 * @example Sessions that all nodes share
 * ```ts
 * import { App } from "@webfw/core";
 * import { recordSessions, session } from "@webfw/core/auth";
 * import { assertEquals } from "@std/assert";
 * import * as v from "valibot";
 *
 * const visit = session(v.object({ userId: v.number() }), { store: recordSessions() });
 *
 * const app = new App({ topics: ":memory:" });
 * app.post("/login", { deps: { visit } }, async (_request, { visit }) => await visit.set({ userId: 7 }));
 * app.get("/me", { deps: { visit } }, async (_request, { visit }) => visit.data);
 *
 * const login = await app.fetch(new Request("http://localhost/login", { method: "POST" }));
 * const cookie = login.headers.get("set-cookie")!.split(";", 1)[0]!;
 * const me = await app.fetch(new Request("http://localhost/me", { headers: { cookie } }));
 * assertEquals(await me.json(), { userId: 7 });
 * await app.stop();
 * ```
 *
 * @category Dependencies
 */
export function recordSessions(): RecordSessions {
  return new RecordSessions();
}

class SessionRecords implements SessionStore {
  readonly #records: Records;

  constructor(records: Records) {
    this.#records = records;
  }

  async get(key: string): Promise<string | null> {
    return (await this.#records.get<string>([key]))?.value ?? null;
  }

  async set(key: string, value: string, { expiresIn, mustExist }: SessionWrite): Promise<void> {
    if (!mustExist) return void await this.#records.set([key], value, { expiresIn });
    const earlier = await this.#records.get([key]);
    // Where somebody else is quicker, the session was renewed already, or has ended.
    if (earlier) await this.#records.set([key], value, { expiresIn, expect: earlier.version });
  }

  async delete(key: string): Promise<void> {
    await this.#records.delete([key]);
  }
}
