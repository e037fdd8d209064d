/** The session cookies of an application: two sessions with one cookie overwrite each other. */
import type { PreparedDependency, SessionCookieOf } from "./dependency.ts";

/** What uses the dependencies, for messages. */
interface User {
  readonly action: string;
  readonly route?: string;
}

interface UsedCookie {
  readonly cookie: SessionCookieOf;
  /** Whether its session belongs to a mounted application. */
  readonly isMounted: boolean;
}

/** The sessions that an application or a router uses, also those of applications that it mounts. */
export class SessionCookies {
  readonly #used: UsedCookie[] = [];

  get all(): readonly SessionCookieOf[] {
    return this.#used.map(({ cookie }) => cookie);
  }

  /**
   * Finds the sessions of dependencies, and of those that they need.
   *
   * @param mounted The cookies of a mounted application. Browsers send it only the cookies whose
   * paths cover its own, so the same name is no conflict elsewhere.
   * @throws {TypeError} If another session has the same cookie.
   */
  check(
    dependencies: Iterable<PreparedDependency>,
    { action, route }: User,
    mounted: readonly SessionCookieOf[] = [],
  ): readonly UsedCookie[] {
    const found: UsedCookie[] = [
      ...cookiesOf(dependencies).map((cookie) => ({ cookie, isMounted: false })),
      ...mounted.map((cookie) => ({ cookie, isMounted: true })),
    ];
    for (const [index, one] of found.entries()) {
      const other = [...this.#used, ...found.slice(0, index)].find((other) => isConflict(one, other));
      if (!other) continue;
      const user = route === undefined ? "" : `in ${route}, `;
      const { name, session } = one.cookie;
      throw new TypeError(
        `Cannot ${action}: ${user}the session "${session.name}" has the cookie of another session "${other.cookie.session.name}", ${name}, use one of them, or give one another name, cookie: { name: "admin" }`,
      );
    }
    return found;
  }

  /** Adds sessions that were checked. */
  add(found: readonly UsedCookie[]): void {
    for (const one of found) {
      const isKnown = this.#used.some(({ cookie, isMounted }) =>
        cookie.session === one.cookie.session && isMounted === one.isMounted
      );
      if (!isKnown) this.#used.push(one);
    }
  }
}

/** The cookies of dependencies, of those that they need, and of guards within them. */
function cookiesOf(dependencies: Iterable<PreparedDependency>): SessionCookieOf[] {
  const all = new Set(dependencies);
  // The loop also visits what is added to the set while it runs.
  for (const { deps, inner } of all) {
    for (const needed of [...deps.values(), ...inner?.guards ?? []]) all.add(needed);
  }
  return [...all].flatMap(({ cookie }) => cookie ?? []);
}

function isConflict(
  { cookie: one, isMounted }: UsedCookie,
  { cookie: other, isMounted: isOtherMounted }: UsedCookie,
): boolean {
  if (one.name !== other.name || one.session === other.session) return false;
  const isInOneApplication = !isMounted && !isOtherMounted;
  return isInOneApplication || (isSentTo(one, other) && isOfDomain(one, other));
}

/** Whether browsers send both cookies to some path (RFC 6265, section 5.1.4). */
function isSentTo({ path: one }: SessionCookieOf, { path: other }: SessionCookieOf): boolean {
  const [above = "", below = ""] = one.length < other.length ? [one, other] : [other, one];
  return below === above || below.startsWith(above.endsWith("/") ? above : `${above}/`);
}

/** Whether browsers may send both cookies to some host. Without a domain, that is any host. */
function isOfDomain({ domain: one }: SessionCookieOf, { domain: other }: SessionCookieOf): boolean {
  if (one === undefined || other === undefined) return true;
  const [above = "", below = ""] = [one, other].map((domain) => `.${domain.replace(/^\./, "").toLowerCase()}`)
    .sort((a, b) => a.length - b.length);
  return below.endsWith(above);
}
