/** The Host header. A server writes it into the URL unchecked, so that a slash in it would move the place where the path starts. */
import { HTTPError } from "../errors.ts";

/** `host[:port]`, RFC 3986, section 3.2.2: a name, an IPv4 address, or an IPv6 address in brackets. Without userinfo. */
const HOST = /^(?:[\w.~!$&'()*+,;=%-]+|\[[\da-fA-F:.]+\])(?::\d{0,5})?$/;

/** Refuses requests whose Host header is not `host[:port]`. */
export class HostCheck {
  /** The start of the last URL that was good, up to its path. Most requests ask the same host. */
  #origin = "";

  /**
   * Checks the host of a request. It asks for the header only where the URL leaves open whether the first slash is of the Host or
   * of the path: that costs 5 % of a short reply.
   *
   * @param raw The request.
   * @param pathStart Where the first slash after the authority stands in its URL.
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
    if (header !== null && header !== "" && !HOST.test(header)) throw malformed();
  }
}

function malformed(): HTTPError {
  return new HTTPError(400, "The Host header must be a host and a port, such as example.org:8000");
}
