/**
 * The cookies of the sessions of an application: two sessions with one cookie overwrite each other.
 */
import type { PreparedDependency, SessionCookieOf } from "./dependency.ts";

type Sessions = ReadonlyMap<string, SessionCookieOf["session"]>;

/** The user of dependencies, for messages: `route` where it is one of several. */
interface User {
  readonly action: string;
  readonly route?: string;
}

/** The sessions that the dependencies of an application or a router use. */
export class SessionCookies {
  readonly #sessions = new Map<string, SessionCookieOf["session"]>();

  /**
   * Finds the sessions of dependencies, and of those that they need, by their cookies.
   *
   * @throws {TypeError} If another session has the same cookie.
   */
  check(dependencies: Iterable<PreparedDependency>, { action, route }: User): Sessions {
    const found = new Map<string, SessionCookieOf["session"]>();
    const all = new Set(dependencies);
    // A set is also iterated over what is added meanwhile.
    for (const { deps, inner, cookie } of all) {
      for (const needed of [...deps.values(), ...inner?.guards ?? []]) all.add(needed);
      if (!cookie) continue;
      const { name, session } = cookie;
      const other = this.#sessions.get(name) ?? found.get(name) ?? session;
      found.set(name, session);
      if (other === session) continue;
      const place = route === undefined ? "" : `in ${route}, `;
      throw new TypeError(
        `Cannot ${action}: ${place}the session "${session.name}" has the cookie of another session "${other.name}", ${name}, use one of them, or give one another name, cookie: { name: "admin" }`,
      );
    }
    return found;
  }

  /** Adds sessions that were checked. */
  add(found: Sessions): void {
    for (const [name, session] of found) this.#sessions.set(name, session);
  }
}
