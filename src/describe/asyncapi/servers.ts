/** The servers of the AsyncAPI document, from those of the OpenAPI document. */
import type { OpenAPIServer } from "../openapi/document.ts";
import type { AsyncAPIReference, AsyncAPIServer } from "./document.ts";

/** What a channel is reached by: a WebSocket, a request, or nothing but the application itself. */
export type Transport = "websocket" | "http" | "topic";

/** A URL of a server. The scheme has no variables. */
const URL_PARTS = /^(?<scheme>https?):\/\/(?<host>[^/]+)(?<pathname>\/.*)?$/;

/** The protocol of WebSockets by that of requests. */
const SOCKETS: Readonly<Record<string, string>> = { http: "ws", https: "wss" };

/**
 * The servers of a document. A server that is a path alone has no host to name, and is left out,
 * and so is one whose scheme is a variable.
 */
export class AsyncAPIServers {
  readonly #servers = new Map<string, AsyncAPIServer>();
  readonly #byTransport: Readonly<Record<Transport, string[]>> = { websocket: [], http: [], topic: [] };

  /**
   * @param servers The servers of the application.
   * @param transports By what its channels are reached.
   */
  constructor(servers: readonly OpenAPIServer[], transports: ReadonlySet<Transport>) {
    const located = servers.flatMap((server) => {
      const parts = URL_PARTS.exec(server.url)?.groups;
      return parts ? [{ server, parts }] : [];
    });
    for (const { server: { description, variables }, parts: { scheme, host, pathname } } of located) {
      const place = {
        ...(pathname !== undefined && { pathname }),
        ...(description !== undefined && { description }),
        ...(variables && { variables }),
      };
      for (const [transport, protocol] of [["websocket", SOCKETS[scheme!]!], ["http", scheme!]] as const) {
        if (transports.has(transport)) this.#add(transport, { host: host!, protocol, ...place });
      }
    }
    // Without a server of its own, a channel would be on all of the others.
    if (this.#servers.size > 0 && transports.has("topic")) {
      this.#add("topic", {
        host: "application",
        protocol: "webfw",
        description: "The topics inside of the application. Clients get their messages from other channels.",
      });
    }
  }

  /** Where the channels of a transport are; undefined if the document has no servers. */
  of(transport: Transport): AsyncAPIReference[] | undefined {
    if (this.#servers.size === 0) return undefined;
    return this.#byTransport[transport].map((name) => ({ $ref: `#/servers/${name}` }));
  }

  /** All servers, by name; undefined if there are none. */
  definitions(): Record<string, AsyncAPIServer> | undefined {
    return this.#servers.size === 0 ? undefined : Object.fromEntries(this.#servers);
  }

  #add(transport: Transport, server: AsyncAPIServer): void {
    let name = server.protocol;
    for (let number = 2; this.#servers.has(name); number++) name = `${server.protocol}${number}`;
    this.#servers.set(name, server);
    this.#byTransport[transport].push(name);
  }
}
