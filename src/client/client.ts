/** The client of an API whose routes are known by their types. */
import { type Arguments, toBase } from "./address.ts";
import { callRoute } from "./call.ts";
import { checkNames, type ClientOptions, type IdempotentOptions } from "./options.ts";
import { Sender } from "./sender.ts";

/** Opens a WebSocket, as `new WebSocket()` does. */
export type OpenSocket = (address: string, headers: Headers) => WebSocket;

/** What a client is made of. */
export interface ClientParts {
  /** The address before the paths. */
  readonly base: string | URL;
  readonly options: ClientOptions;
  /** By default the platform's own WebSocket. Tests of applications need no connection. */
  readonly openSocket?: OpenSocket | undefined;
}

/** A client without the types of the routes. */
export type UntypedClient = Readonly<
  Record<string, (path: string, values?: Arguments, options?: IdempotentOptions) => unknown>
>;

/**
 * Makes a client.
 *
 * @throws {TypeError} If the base is no address, or an option is unknown.
 */
export function makeClient({ base, options }: ClientParts): UntypedClient {
  checkNames(options, ["headers", "fetch", "signal", "timeout"], "make a client");
  const sender = new Sender(toBase(base), options);
  const verb = (method: string): UntypedClient[string] => (path, values, own) =>
    callRoute(sender, method, path, values, own);
  return {
    get: verb("GET"),
    post: verb("POST"),
    put: verb("PUT"),
    patch: verb("PATCH"),
    delete: verb("DELETE"),
  };
}
