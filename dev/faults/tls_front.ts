// Speaks TLS for a server that does not, like a proxy in front of a database. Clients may choose
// HTTP/2.

import { type Certificate, makeCertificate } from "../../tests/support/certificate.ts";
import { NotAllowedError } from "./not_allowed_error.ts";

/** The headers that describe a connection, or the transfer of a body. */
const OWN_HEADERS = ["connection", "content-length", "host", "keep-alive", "transfer-encoding"];

/** A server in front of another one. */
export class TlsFront implements AsyncDisposable {
  /** The file of its certificate, which clients must trust. */
  readonly certificate: string;
  readonly #server: Deno.HttpServer<Deno.NetAddr>;
  readonly #client = Deno.createHttpClient({});

  private constructor(origin: string, certificate: Certificate, file: string) {
    const options = {
      hostname: "127.0.0.1",
      port: 0,
      onListen: () => {},
      onError: () => unreachable(),
      ...certificate,
    };
    this.#server = Deno.serve(options, (request) => this.#pass(request, origin));
    this.certificate = file;
  }

  /**
   * Listens, and passes requests on to an origin.
   *
   * @throws {NotAllowedError} Where nothing can make a certificate.
   */
  static async start(origin: string): Promise<TlsFront> {
    const certificate = await makeCertificate();
    if (!certificate) throw new NotAllowedError("This system has no openssl to make a certificate");
    const file = await Deno.makeTempFile({ prefix: "webfw_fault_", suffix: ".pem" });
    await Deno.writeTextFile(file, certificate.cert);
    return new TlsFront(origin, certificate, file);
  }

  /** Where it listens. */
  get port(): number {
    return this.#server.addr.port;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Deno.remove(this.certificate);
    this.#client.close();
    await this.#server.shutdown();
  }

  async #pass(request: Request, origin: string): Promise<Response> {
    const { pathname, search } = new URL(request.url);
    const { method, body } = request;
    const headers = passedOn(request.headers);
    const init = { method, headers, body, client: this.#client };
    const reply = await fetch(new URL(pathname + search, origin), init);
    return new Response(reply.body, { status: reply.status, headers: passedOn(reply.headers) });
  }
}

function passedOn(headers: Headers): Headers {
  const passed = new Headers(headers);
  for (const name of OWN_HEADERS) passed.delete(name);
  return passed;
}

function unreachable(): Response {
  return new Response(null, { status: 502 });
}
