/**
 * Checks the Host header. Deno copies it into the URL unchecked, so a slash in it would change
 * where the path starts.
 */
import { HTTPError } from "../errors.ts";

/** `host[:port]` without userinfo (RFC 3986, section 3.2.2). IPv6 addresses are in brackets. */
const HOST = /^(?:[\w.~!$&'()*+,;=%-]+|\[[\da-fA-F:.]+\])(?::\d{0,5})?$/;

/** Refuses requests with a malformed Host header, and remembers the last good values. */
export class HostCheck {
  /** The last good URL up to the first slash of its path. Most requests have the same host. */
  #origin = "";
  /** The last good header. */
  #header = "";

  /**
   * Checks the host of a request. Reading the header costs some percent of a short reply, so it is
   * read only if the URL is ambiguous: host `x/a` with path `/b` gives the same URL as host `x`
   * with path `/a/b`.
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
    // Clients without a host name send an empty header. Deno puts its own address into the URL
    // then.
    if (header === null || header === "" || header === this.#header) return;
    if (!HOST.test(header)) throw malformed();
    this.#header = header;
  }
}

function malformed(): HTTPError {
  return new HTTPError(400, "The Host header must be a host and a port, such as example.org:8000");
}
