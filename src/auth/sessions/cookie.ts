/** The cookie of a session: its name and attributes. */
import { isLoopbackName } from "../../http/host.ts";
import { addCookie, type Cookie, type CookieAttributes } from "../../http/cookies.ts";
import type { HttpRequest } from "../../http/request.ts";
import { log } from "../../log/log.ts";
import { checkOptions, type OptionNames, quote } from "../../base/options.ts";

/**
 * The cookie of a session. It is always `HttpOnly`.
 *
 * @category Dependencies
 */
export interface SessionCookieOptions {
  /**
   * The name. With `secure`, path `/` and no domain it gets the prefix `__Host-`, so that no
   * neighbouring host can set it (RFC 6265bis, section 4.1.3).
   *
   * @default {"session"}
   */
  name?: string;
  /**
   * Which requests from other sites send it: `strict` none, `lax` only followed links, `none` all.
   *
   * @default {"lax"}
   */
  sameSite?: "strict" | "lax" | "none";
  /** A domain and its subdomains. By default only the host that replies. */
  domain?: string;
  /**
   * The path prefix of requests that send it.
   *
   * @default {"/"}
   */
  path?: string;
  /**
   * Whether it requires HTTPS. Most browsers, but not Safari, also accept it from loopback hosts.
   *
   * @default {true}
   */
  secure?: boolean;
}

const OPTIONS: OptionNames<SessionCookieOptions> = {
  name: true,
  sameSite: true,
  domain: true,
  path: true,
  secure: true,
};

const SAME_SITE = { strict: "Strict", lax: "Lax", none: "None" } as const;

const HOST_PREFIX = "__Host-";

export class SessionCookie {
  readonly name: string;
  readonly path: string;
  readonly domain: string | undefined;
  readonly #attributes: CookieAttributes;
  readonly #maxAge: number;
  #hasWarned = false;

  /** @param maxAge In milliseconds. */
  constructor(options: SessionCookieOptions, maxAge: number, action: string) {
    checkOptions(options, OPTIONS, action, "cookie.");
    const { name = "session", sameSite = "lax", domain, path = "/", secure = true } = options;
    if (!Object.hasOwn(SAME_SITE, sameSite)) {
      throw new TypeError(
        `Cannot ${action}: "cookie.sameSite" must be "strict", "lax" or "none", got ${quote(sameSite)}`,
      );
    }
    const isOfHost = secure && path === "/" && domain === undefined && !String(name).startsWith(HOST_PREFIX);
    this.name = isOfHost ? HOST_PREFIX + name : name;
    this.path = path;
    this.domain = domain;
    this.#attributes = { path, secure, sameSite: SAME_SITE[sameSite], ...(domain !== undefined && { domain }) };
    this.#maxAge = Math.max(1, Math.ceil(maxAge / 1000));
    addCookie(new Headers(), this.#with(""));
  }

  /** @throws {RangeError} If the cookie is larger than browsers accept. */
  set(request: HttpRequest, value: string): void {
    request.setCookie(this.#with(value));
    forbidCaching(request);
    this.#warnOnce(request.url);
  }

  delete(request: HttpRequest): void {
    request.deleteCookie(this.name, this.#attributes);
    forbidCaching(request);
  }

  #with(value: string): Cookie {
    return { name: this.name, value, maxAge: this.#maxAge, ...this.#attributes };
  }

  #warnOnce({ protocol, hostname }: URL): void {
    if (this.#hasWarned || !this.#attributes.secure || protocol !== "http:" || isLoopbackName(hostname)) return;
    this.#hasWarned = true;
    log("warn", "Browsers drop the session cookie: it is Secure, and the request came over http", {
      cookie: this.name,
      host: hostname,
      cure: "use HTTPS; behind a proxy that ends HTTPS set trustProxy; for development set cookie: { secure: false }",
    });
  }
}

/** A shared cache would send the cookie to other visitors. */
function forbidCaching({ replyHeaders }: HttpRequest): void {
  if (!replyHeaders.has("cache-control")) replyHeaders.set("cache-control", "no-store");
}
