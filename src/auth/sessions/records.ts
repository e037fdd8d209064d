/** Sessions in the records of the application that serves the request. */
import type { AppHandle } from "../../http/app_handle.ts";
import { hintsOf, type RecordEntry, type Records, recordsOf } from "../../store/records.ts";
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
  of(app: AppHandle): SessionStore & { hint(key: string, onChange: () => void): Promise<() => void> } {
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
 * const visit = session(v.object({ userId: v.number() }), {
 *   store: recordSessions(),
 *   subject: ({ userId }) => userId,
 * });
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

  /** Calls back when the value of a key may have changed, and gives what ends that. */
  hint(key: string, onChange: () => void): Promise<() => void> {
    return hintsOf(this.#records, [key], onChange);
  }

  async get(key: string): Promise<string | null> {
    return (await this.#records.get<string>([key]))?.value ?? null;
  }

  async set(key: string, value: string, { expiresIn, mustExist, expect }: SessionWrite): Promise<boolean> {
    if (!mustExist) return await this.#records.set([key], value, { expiresIn }) !== null;
    return await this.#change(key, async (entry) => {
      // The answer to the write of the round before may have been lost.
      if (entry.value === value) return true;
      if (expect !== undefined && entry.value !== expect) return false;
      return await this.#records.set([key], value, { expiresIn, expect: entry.version }) !== null || undefined;
    });
  }

  async delete(key: string): Promise<boolean> {
    return await this.#change(key, async ({ version }) => {
      return await this.#records.delete([key], { expect: version }) || undefined;
    });
  }

  /**
   * Changes a record as long as it is there. Each round that another request beats is a change of
   * that request, so the rounds end.
   *
   * @param change Gives the result; undefined if another request was quicker.
   */
  async #change(
    key: string,
    change: (entry: RecordEntry<string>) => Promise<boolean | undefined>,
  ): Promise<boolean> {
    for (;;) {
      const entry = await this.#records.get<string>([key]);
      const result = entry ? await change(entry) : false;
      if (result !== undefined) return result;
    }
  }
}
