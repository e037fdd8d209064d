/** Webhooks that come in: requests whose body the sender has signed with a shared secret. */
import {
  type AnyDependency,
  type Dependency,
  type NeededState,
  type None,
  type RequiredState,
  type StateType,
  toDependencies,
  type ValuesOf,
} from "../binding/dependency.ts";
import { makeGuard } from "../binding/guard.ts";
import { readSecurity } from "../binding/security.ts";
import { checkOptions, type Duration, type OptionNames, toMilliseconds } from "../base/options.ts";
import { quotedString } from "../http/headers.ts";
import { contextOf, type HttpRequest } from "../http/request.ts";
import { checkString, equal, requirementOf, UNAUTHORIZED, unauthorized } from "./credentials.ts";
import { hmac, keysOf, readScheme, type Scheme, type Sent, signatureOf, type SignatureScheme } from "./signatures.ts";

/**
 * The options of a guard of signed requests.
 *
 * @category Dependencies
 */
export interface SignedOptions<State = Record<string, unknown>, Dependencies = None> {
  /**
   * How the requests are signed: as Standard Webhooks, GitHub or Stripe do it, or by parts of your
   * own.
   */
  scheme: "standard" | "github" | "stripe" | SignatureScheme;
  /** The type of `request.state` in the function `secret`, made by `stateType`. */
  state?: StateType<State>;
  /** Dependencies whose values the function `secret` gets, such as the guard of a partner. */
  deps?: Dependencies & Readonly<Record<string, AnyDependency>>;
  /**
   * The secret that is shared with the sender; of an array, each is accepted, so that it can be
   * replaced without a gap. An async function returns the secret of a tenant; if it returns
   * undefined or null, the request is refused. Secrets of `standard` are base64, perhaps after
   * `whsec_`.
   */
  secret:
    | string
    | readonly string[]
    | ((
      request: HttpRequest<State>,
      args: ValuesOf<Dependencies>,
    ) => Promise<string | readonly string[] | null | undefined>);
  /**
   * How far the time of sending may be from now, in the past and in the future. GitHub sends no
   * time, so that a recorded request can be sent again.
   *
   * @default {"5m"}
   */
  tolerance?: Duration;
  /** The description of the scheme in the document, such as where to get the secret. */
  description?: string;
}

/**
 * What a signed request says of itself, besides its body. The signature covers it.
 *
 * @category Dependencies
 */
export interface SignedMessage {
  /**
   * The id of the message, which stays the same when it is sent again; null if it is not signed.
   */
  readonly id: string | null;
  /** The time of sending; null if it is not signed. */
  readonly sentAt: Date | null;
}

const OPTIONS: OptionNames<SignedOptions> = {
  scheme: true,
  state: true,
  deps: true,
  secret: true,
  tolerance: true,
  description: true,
};

/**
 * A guard of requests that their sender has signed, such as the webhooks of a payment provider.
 *
 * It reads the body up to the limit `body`, and compares its HMAC in constant time; the handler
 * gets the same body without a second read. A request without a valid signature, or one that was
 * sent too long ago, is refused with 401. Within the tolerance a recorded request can come again:
 * keep the ids, or make the work `idempotent`.
 *
 * @returns A dependency. Its value is the id and the time of the message.
 * @throws {TypeError} If an option is missing or wrong.
 * @throws {RangeError} If the tolerance is no duration.
 *
 * @example A webhook
 * ```ts
 * import { App } from "@webfw/core";
 * import { signed } from "@webfw/core/auth";
 * import { assertEquals } from "@std/assert";
 * import * as v from "valibot";
 *
 * const sender = signed({ scheme: "github", secret: "It's a Secret to Everybody" });
 * const app = new App();
 * const Push = v.object({ ref: v.string() });
 * app.post("/push", { deps: { sender }, body: Push }, async (_request, { body }) => body.ref);
 *
 * const response = await app.fetch(new Request("http://localhost/push", { method: "POST", body: "{}" }));
 * assertEquals(response.status, 401);
 * ```
 *
 * @category Dependencies
 */
export function signed<
  State = Record<string, unknown>,
  Dependencies extends Readonly<Record<string, AnyDependency>> = None,
>(
  options: SignedOptions<State, Dependencies>,
): Dependency<SignedMessage, RequiredState<State> & NeededState<Dependencies[keyof Dependencies]>> {
  const action = "make a signed guard";
  checkOptions(options, OPTIONS as OptionNames<SignedOptions<State, Dependencies>>, action);
  const { description, deps, secret } = options;
  checkString(description, "description", action);
  const scheme = readScheme(options.scheme, action);
  const { name, header, timestamp } = scheme;
  if (options.tolerance !== undefined && timestamp === undefined) {
    throw new TypeError(`Cannot ${action}: "tolerance" needs a timestamp, and ${name} signs none`);
  }
  const tolerance = toMilliseconds(options.tolerance ?? "5m", "the tolerance of a signed guard");
  const keysFor = readSecret(secret as Secret, scheme, action);
  const callers = new WeakMap<SignedMessage, string>();
  const challenge = `Signature realm=${quotedString(name)}, header=${quotedString(header)}`;
  return makeGuard<SignedMessage, RequiredState<State> & NeededState<Dependencies[keyof Dependencies]>>({
    name,
    deps: Object.fromEntries(toDependencies(deps)),
    security: readSecurity(requirementOf(name, { type: "apiKey", in: "header", name: header }, description), name),
    replies: [UNAUTHORIZED],
    isSent: (request) => request.raw.headers.has(header),
    readHeaders: scheme.furtherHeaders,
    // The sender, whose secret may be one of several: of a function, each secret is a sender.
    callerOf: (_request, value) => callers.get(value as SignedMessage),
    resolve: async (request, args) => {
      const sent = scheme.read(request.raw.headers);
      if (!sent) throw unauthorized(`Sign the request, and send the signature in the header ${header}`, challenge);
      const sentAt = timestamp === undefined ? null : dateOf(sent.timestamp);
      // Without the body, as it need not be read.
      if (sentAt && !(Math.abs(Date.now() - sentAt.getTime()) <= tolerance)) {
        throw unauthorized("The request was signed too long ago, or the clocks differ: sign it again", challenge);
      }
      const keys = await keysFor(request, args);
      const body = await contextOf(request).body.sentBytes();
      const key = keys.find((key) => isSignedBy(key, scheme, sent, body));
      if (!key) throw unauthorized("The signature is not valid", challenge);
      const message: SignedMessage = { id: scheme.id === undefined ? null : sent.id, sentAt };
      callers.set(message, typeof secret === "function" ? hmac(scheme, key, ["caller"]).toString("hex") : name);
      return message;
    },
  });
}

function isSignedBy(key: Uint8Array, scheme: Scheme, sent: Sent, body: Uint8Array): boolean {
  const expected = signatureOf(scheme, key, sent, body);
  return sent.signatures.some((signature) =>
    equal(scheme.encoding === "hex" ? signature.toLowerCase() : signature, expected)
  );
}

/** Invalid unless it is seconds since 1970. */
function dateOf(timestamp: string): Date {
  return new Date(/^\d{1,12}$/.test(timestamp) ? Number(timestamp) * 1000 : NaN);
}

type Secret = SignedOptions<Record<string, unknown>, Readonly<Record<string, AnyDependency>>>["secret"];

/** The keys of a request; none if the program knows no secret for it. */
type KeysFor = (request: HttpRequest, args: Readonly<Record<string, unknown>>) => Promise<readonly Uint8Array[]>;

function readSecret(secret: Secret, scheme: Scheme, action: string): KeysFor {
  if (typeof secret === "function") {
    return async (request, args) => {
      const secrets = await secret(request, args);
      // An unknown tenant has none.
      const hasNone = secrets === undefined || secrets === null || secrets.length === 0;
      return hasNone ? [] : keysOf(secrets, scheme, "verify a signature");
    };
  }
  const keys = keysOf(secret, scheme, action);
  return async () => keys;
}
