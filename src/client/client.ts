/** Makes clients. */
import { load } from "./load.ts";
import type { Values } from "./address.ts";
import { callRoute } from "./call.ts";
import { checkCall } from "./option_check.ts";
import { Sender } from "./sender.ts";
import type { OpenSocket } from "./socket.ts";
import type { CallOptions, ClientOptions } from "./types.ts";
import type { Client } from "./verbs.ts";

/** What a client is made of. */
export interface ClientParts {
  /** The address before the paths. */
  readonly base: string | URL;
  readonly options: ClientOptions;
  /** By default the platform's own WebSocket. Tests of applications need no connection. */
  readonly openSocket?: OpenSocket | undefined;
}

/** A client without the types of the routes. */
type UntypedClient = Record<string, (path: string, values?: Values, options?: CallOptions) => unknown>;

/**
 * Makes a client of the routes that a module exports.
 *
 * Only the types of the module are imported: nothing of the server is loaded, and there is no list
 * of routes at run time. So the type of a reply decides what a call gives: JSON is parsed, a text
 * with a `charset` is a string, lines of JSON are an async iterable, and all else is a `Blob`. A
 * call of a reply without content gives undefined.
 *
 * Arguments are written as the server reads them: dates as ISO 8601, an undefined one not at all. A
 * path parameter that is empty, or has a segment `.` or `..`, is refused, because the request would
 * come to another path.
 *
 * @param base The address before the paths, such as `https://shop.example/v1`. In a page it may be
 * a path of its own origin, such as `/v1`, or empty.
 * @param options The options of all calls.
 * @throws {TypeError} If the base is no address, or an option is unknown.
 * @throws {RangeError} If the timeout is not a positive number.
 *
 * @example A route that is called by its path
 * ```ts
 * import { App } from "@webfw/core";
 * import { client } from "@webfw/core/client";
 * import { assertEquals } from "@std/assert";
 * import * as v from "valibot";
 *
 * // books.ts, the server
 * const app = new App();
 * const Book = v.object({ id: v.number(), added: v.date() });
 * const options = { params: { id: v.number() }, query: { lang: v.optional(v.string()) }, response: Book };
 * const getBook = app.get("/books/{id}", options, async (_request, { id }) => ({ id, added: new Date(0) }));
 *
 * // elsewhere: import type * as api from "./books.ts", and then client<typeof api>(…)
 * const shop = client<{ getBook: typeof getBook }>("http://localhost", { fetch: app.fetch });
 * const book = await shop.get("/books/{id}", { id: 1, lang: "en" });
 * assertEquals(book, { id: 1, added: "1970-01-01T00:00:00.000Z" });
 * ```
 *
 * @example A form with a file, and credentials of each request
 * ```ts
 * import { App, Form, UploadFile } from "@webfw/core";
 * import { bearer } from "@webfw/core/auth";
 * import { client } from "@webfw/core/client";
 * import { assertEquals } from "@std/assert";
 * import * as v from "valibot";
 *
 * const app = new App();
 * const user = bearer(async (token) => token === "s3cret" ? { name: "Ada" } : null);
 * const Picture = v.object({ title: v.string(), picture: UploadFile });
 * const addPicture = app.post("/pictures", { deps: { user }, form: Form(Picture) }, async (_request, { form, user }) => {
 *   return `${form.title} by ${user.name}, ${form.picture.size} bytes`;
 * });
 *
 * const token = "s3cret";
 * const shop = client<{ addPicture: typeof addPicture }>("http://localhost", {
 *   fetch: app.fetch,
 *   headers: () => ({ authorization: `Bearer ${token}` }),
 *   timeout: 30_000,
 * });
 * const picture = new File(["…"], "cat.png", { type: "image/png" });
 * assertEquals(await shop.post("/pictures", { form: { title: "Cat", picture } }), "Cat by Ada, 3 bytes");
 * ```
 *
 * @category Client
 */
export function client<Api>(base: string | URL, options: ClientOptions = {}): Client<Api> {
  return makeClient<Api>({ base, options });
}

/** Makes a client of its parts, as {@linkcode client} does. */
export function makeClient<Api>({ base, options, openSocket }: ClientParts): Client<Api> {
  checkCall(options, ["fetch"], "make a client");
  const sender = new Sender(base, options);
  const made: UntypedClient = {
    events: (...given) => {
      let begun: Promise<AsyncIterableIterator<unknown>> | undefined;
      const stream = () => begun ??= load(() => import("./events.ts")).then(({ listen }) => listen(sender, ...given));
      return {
        next: async () => (await stream()).next(),
        return: async () => (await stream()).return!(),
        [Symbol.asyncIterator]() {
          return this;
        },
      };
    },
    websocket: async (...given) => (await load(() => import("./websocket.ts"))).connect(sender, openSocket, ...given),
  };
  for (const verb of ["get", "post", "put", "patch", "delete"]) {
    made[verb] = (...given) => callRoute(sender, verb.toUpperCase(), ...given);
  }
  return made as unknown as Client<Api>;
}
