/** Names and passwords in the `Authorization` header (RFC 7617). */
import type { Dependency, RequiredState } from "../binding/dependency.ts";
import type { HttpRequest } from "../http/request.ts";
import { quotedString } from "../http/headers.ts";
import type { OptionNames } from "../base/options.ts";
import {
  checkGuardOptions,
  checkString,
  checkVerify,
  credentialsOf,
  type GuardOptions,
  hasAuthorization,
  isAccepted,
  makeVerifyingGuard,
  type StatefulGuardOptions,
  unauthorized,
} from "./credentials.ts";

/**
 * The options of a guard of names and passwords.
 *
 * @category Dependencies
 */
export interface BasicOptions<State = Record<string, unknown>> extends StatefulGuardOptions<State> {
  /**
   * The realm of the challenge, in ASCII; some browsers show it. By default the name of the scheme.
   */
  realm?: string;
}

const OPTIONS: OptionNames<Omit<BasicOptions, keyof GuardOptions>> = { realm: true, state: true };

const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/**
 * A guard of a name and password in the `Authorization` header (RFC 7617): UTF-8, together at most
 * 12,288 bytes. Only the password can contain a colon.
 *
 * A request without them is refused with 401. Browsers then ask the user, and send both with each
 * later request, so use HTTPS only.
 *
 * @param verify Returns the user; null, undefined or false refuses with 401. A thrown `HTTPError`
 * is the reply, any other error a 500. Store passwords as hashes of a slow function such as Argon2.
 * @returns A dependency whose value is the user.
 * @throws {TypeError} If an option is invalid.
 *
 * @example One user
 * ```ts
 * import { App } from "@webfw/core";
 * import { basic, equal } from "@webfw/core/auth";
 * import { assertEquals } from "@std/assert";
 *
 * const staff = basic(async (name, password) => equal(password, "p:ss") && { name }, { realm: "Staff" });
 *
 * const app = new App();
 * app.get("/stock", { deps: { staff } }, async (_request, { staff }) => staff.name);
 * const ask = (headers: HeadersInit) => app.fetch(new Request("http://localhost/stock", { headers }));
 * assertEquals(await (await ask({ authorization: `Basic ${btoa("Ada:p:ss")}` })).json(), "Ada");
 * const refused = await ask({});
 * assertEquals(refused.status, 401);
 * assertEquals(refused.headers.get("www-authenticate"), 'Basic realm="Staff", charset="UTF-8"');
 * ```
 *
 * @category Dependencies
 */
export function basic<Value, State = Record<string, unknown>>(
  verify: (
    name: string,
    password: string,
    request: HttpRequest<State>,
  ) => Promise<Value | null | undefined | false>,
  options: BasicOptions<State> = {},
): Dependency<Value, RequiredState<State>> {
  const action = "make a basic guard";
  checkVerify(verify, action);
  checkGuardOptions<BasicOptions<State>>(options, OPTIONS, action);
  const { scheme = "basic", realm = scheme, description } = options;
  checkString(realm, "realm", action);
  if (!/^[\x20-\x7e]*$/.test(realm)) {
    throw new TypeError(`Cannot ${action}: a header carries the realm, so it must be ASCII without control characters`);
  }
  const challenge = `Basic realm=${quotedString(realm)}, charset="UTF-8"`;
  return makeVerifyingGuard<Value, State>({
    name: scheme,
    scheme: { type: "http", scheme: "basic" },
    description,
    isSent: hasAuthorization,
    callerOf: (request) => decodePair(credentialsOf(request, "basic") ?? undefined)?.[0],
    resolve: async (request) => {
      const credentials = credentialsOf(request, "basic");
      if (credentials === null) throw unauthorized("Send a name and a password in the Authorization header", challenge);
      const pair = decodePair(credentials);
      const value = pair && await verify(...pair, request);
      if (!isAccepted(value)) throw unauthorized("The name or the password is not valid", challenge);
      return value;
    },
  });
}

/** Null if they are malformed. */
function decodePair(credentials: string | undefined): [name: string, password: string] | null {
  if (credentials === undefined || !/^[A-Za-z0-9+/]+={0,2}$/.test(credentials)) return null;
  let text: string;
  try {
    text = utf8.decode(Uint8Array.from(atob(credentials), (char) => char.charCodeAt(0)));
  } catch {
    return null;
  }
  const colon = text.indexOf(":");
  // deno-lint-ignore no-control-regex
  if (colon < 0 || /[\u0000-\u001f\u007f]/.test(text)) return null;
  return [text.slice(0, colon), text.slice(colon + 1)];
}
