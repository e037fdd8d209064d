/**
 * The Host header. Deno writes it into the URL as it was sent, so that a slash in it would move the
 * place where the path starts.
 */
import { HTTPError } from "../errors.ts";

/**
 * `host[:port]`, RFC 3986, section 3.2.2: a name, an IPv4 address, or an IPv6 address in brackets.
 * Without userinfo.
 */
const HOST = /^(?:[\w.~!$&'()*+,;=%-]+|\[[\da-fA-F:.]+\])(?::\d{0,5})?$/;

/** Refuses requests whose Host header is not `host[:port]`. */
export class HostCheck {
  /**
   * The last URL that was good, up to its path, with the slash. Most requests ask the same host.
   */
  #origin = "";
  /** The last header that was good. */
  #header = "";

  /**
   * Checks the host of a request. Asking for the header costs some percent of a short reply. So it
   * is asked for only where the URL does not show which slash is the first of the path: `x/a` and
   * `/b` give the same URL as `x` and `/a/b`.
   *
   * @param raw The request.
   * @param pathStart The index of the first slash after the authority in its URL.
   * @throws {HTTPError} With 400.
   */
  check(raw: Request, pathStart: number): void {
    const { url } = raw;
    if (this.#origin === "" || !url.startsWith(this.#origin)) {
      if (!HOST.test(url.slice(url.indexOf("://") + 3, pathStart))) throw malformed();
      this.#origin = url.slice(0, pathStart + 1);
    }
    if (url.indexOf("/", pathStart + 1) < 0) return;
    const header = raw.headers.get("host");
    // An empty one is sent by clients that know no host: the server puts its own address there.
    if (header === null || header === "" || header === this.#header) return;
    if (!HOST.test(header)) throw malformed();
    this.#header = header;
  }
}

function malformed(): HTTPError {
  return new HTTPError(400, "The Host header must be a host and a port, such as example.org:8000");
}
