/** The public keys of an issuer, fetched from its JSON Web Key Set (RFC 7517). */
import { load } from "../../base/async_context.ts";
import { HTTPError } from "../../base/errors.ts";
import { isLoopbackName } from "../../http/host.ts";
import { describeError, detached, log } from "../../log/log.ts";
import { InvalidToken, type JwtCryptoKey, type JwtHeader } from "./token.ts";

/** Keys are fetched again when they are older. */
const MAX_AGE_MS = 600_000;
/** As long, keys are good while their address does not answer. */
const MAX_AGE_UNANSWERED_MS = 24 * 3_600_000;
/** The least time between two fetches because of an unknown key, or of one that is old. */
const UNKNOWN_KEY_MS = 30_000;
/** The least time between a fetch that failed and the next one. */
const FAILED_MS = 1_000;
/** The limit of all requests of one fetch together. */
const FETCH_MS = 5_000;
/** The most bytes of a document. Large sets of keys have some ten thousand. */
const MAX_BYTES = 1_048_576;

type FindKey = (header: JwtHeader) => Promise<JwtCryptoKey>;

interface Fetched<Value> {
  readonly value: Value;
  readonly at: number;
}

/** Finds keys by the headers of tokens, and fetches them when it has to. */
export class RemoteKeys {
  readonly #issuer: string;
  /** The address that the application named. */
  readonly #address: string | undefined;
  /** The address that the issuer published. */
  #published: Fetched<string> | undefined;
  #keys: Fetched<FindKey> | undefined;
  #pending: Promise<FindKey> | undefined;
  /** When keys were last fetched because of an unknown one. */
  #askedAt = -Infinity;
  #failedAt = -Infinity;

  /**
   * @param issuer The issuer of the tokens.
   * @param address The address of the keys. By default the issuer publishes it (OpenID Connect
   * Discovery).
   * @param action What is being done, for messages.
   * @throws {TypeError} If an address is neither of HTTPS nor of this machine.
   */
  constructor(issuer: string, address: string | undefined, action: string) {
    this.#issuer = issuer;
    this.#address = address;
    if (isSafe(address ?? issuer)) return;
    const option = address === undefined ? 'without "keys", "issuer"' : '"keys"';
    throw new TypeError(
      `Cannot ${action}: ${option} must be an https: URL, or one of a loopback host, got "${address ?? issuer}"`,
    );
  }

  /**
   * Finds the key of a token of the issuer.
   *
   * @throws {InvalidToken} If the issuer has no such key.
   * @throws {HTTPError} With 503 if the keys cannot be fetched.
   */
  async find(header: JwtHeader): Promise<JwtCryptoKey> {
    const keys = isWithin(this.#keys, MAX_AGE_UNANSWERED_MS) ? this.#keys : undefined;
    const known = keys && await findKey(keys.value, header);
    const fresh = isWithin(keys, MAX_AGE_MS) ? keys : undefined;
    if (!known) return await this.#findUnknown(header, fresh);
    return fresh ? known : await this.#findAgain(header, known, keys.at);
  }

  /** Finds a key that is old: the issuer may have withdrawn it. */
  async #findAgain(header: JwtHeader, known: JwtCryptoKey, fetchedAt: number): Promise<JwtCryptoKey> {
    const hasFailed = this.#failedAt >= fetchedAt + MAX_AGE_MS;
    if (hasFailed) {
      // The address does not answer: no further request waits for it.
      const isDue = Date.now() - this.#failedAt >= UNKNOWN_KEY_MS;
      if (isDue && !this.#pending) detached(() => this.#fetchOnce()).catch(() => {});
      return known;
    }
    const fetched = await this.#fetchOnce().catch(() => undefined);
    if (!fetched) return known;
    const found = await findKey(fetched, header);
    if (found) return found;
    throw new InvalidToken();
  }

  async #findUnknown(header: JwtHeader, fresh: Fetched<FindKey> | undefined): Promise<JwtCryptoKey> {
    if (!this.#pending) {
      const hasFailed = this.#failedAt > (fresh?.at ?? -Infinity);
      const wait = fresh ? this.#askedAt + UNKNOWN_KEY_MS - Date.now() : this.#failedAt + FAILED_MS - Date.now();
      if (wait > 0 && wait <= UNKNOWN_KEY_MS) throw hasFailed ? unavailable(wait) : new InvalidToken();
      if (fresh) this.#askedAt = Date.now();
    }
    const found = await findKey(await this.#fetchOnce(), header);
    if (found) return found;
    throw new InvalidToken();
  }

  /** Fetches the keys, once for all callers that wait. */
  #fetchOnce(): Promise<FindKey> {
    return this.#pending ??= this.#fetch();
  }

  async #fetch(): Promise<FindKey> {
    try {
      const value = await withTimeLimit((signal) => this.#fetchKeys(signal));
      this.#keys = { value, at: Date.now() };
      return value;
    } catch (failure) {
      this.#failedAt = Date.now();
      // The messages of the platform have the query, which can hold a credential.
      const { search } = new URL(this.#address ?? this.#issuer);
      log("error", "The keys that verify tokens cannot be fetched", {
        issuer: this.#issuer,
        error: describeError(failure).replaceAll(search, ""),
      });
      throw unavailable(FAILED_MS);
    } finally {
      this.#pending = undefined;
    }
  }

  async #fetchKeys(signal: AbortSignal): Promise<FindKey> {
    const address = this.#address ?? await this.#discover(signal);
    const keys = await fetchJson(address, signal);
    const { createLocalJWKSet } = await load(() => import("jose/jwks/local"));
    const find = createLocalJWKSet(keys as Parameters<typeof createLocalJWKSet>[0]);
    return (header) => find({ ...header });
  }

  /** The address of the keys, as OpenID Connect Discovery 1.0 has it. */
  async #discover(signal: AbortSignal): Promise<string> {
    if (isWithin(this.#published, MAX_AGE_MS)) return this.#published!.value;
    const document = await fetchJson(`${this.#issuer.replace(/\/$/, "")}/.well-known/openid-configuration`, signal);
    const { issuer, jwks_uri: address } = (document ?? {}) as {
      readonly issuer?: unknown;
      readonly jwks_uri?: unknown;
    };
    // Section 4.3 demands it: another issuer could otherwise take the place of this one.
    if (issuer !== this.#issuer) throw new TypeError(`The configuration is not that of ${this.#issuer}`);
    if (typeof address !== "string" || !isSafe(address)) {
      throw new TypeError("The configuration has no jwks_uri of HTTPS or of this machine");
    }
    this.#published = { value: address, at: Date.now() };
    return address;
  }
}

/** A clock that was set back makes a value old. */
function isWithin(fetched: Fetched<unknown> | undefined, ms: number): boolean {
  const age = fetched === undefined ? -1 : Date.now() - fetched.at;
  return age >= 0 && age < ms;
}

/** Undefined if no key fits the header. */
async function findKey(find: FindKey, header: JwtHeader): Promise<JwtCryptoKey | undefined> {
  try {
    return await find(header);
  } catch (error) {
    if ((error as { readonly code?: unknown }).code === "ERR_JWKS_NO_MATCHING_KEY") return undefined;
    // Several keys fit, or the platform does not know the kind of the key.
    throw new InvalidToken();
  }
}

function unavailable(waitMs: number): HTTPError {
  return new HTTPError(503, "The keys that verify tokens cannot be fetched", {
    headers: { "retry-after": String(Math.ceil(waitMs / 1000)) },
  });
}

/** Whether nobody on the way to an address can change what it answers. */
function isSafe(address: string): boolean {
  if (!URL.canParse(address)) return false;
  const { protocol, hostname } = new URL(address);
  if (protocol === "https:") return true;
  return protocol === "http:" && isLoopbackName(hostname);
}

async function withTimeLimit<Value>(work: (signal: AbortSignal) => Promise<Value>): Promise<Value> {
  const controller = new AbortController();
  const timer = setTimeout(() => {
    controller.abort(new DOMException(`There is no answer within ${FETCH_MS / 1000} s`, "TimeoutError"));
  }, FETCH_MS);
  try {
    return await work(controller.signal);
  } finally {
    clearTimeout(timer);
  }
}

/** @throws {TypeError} If the answer is a redirect, too large, or not JSON. */
async function fetchJson(address: string, signal: AbortSignal): Promise<unknown> {
  const headers = { accept: "application/json" };
  // Messages are logged, and the rest of an address can hold credentials.
  const { origin, pathname } = new URL(address);
  const name = `${origin}${pathname}`;
  // A redirect could lead to where anyone can answer.
  const response = await fetch(address, { signal, headers, redirect: "manual" });
  if (response.status !== 200) {
    await response.body?.cancel();
    throw new TypeError(`${name} answered with status ${response.status}`);
  }
  const text = new TextDecoder();
  let json = "";
  let bytes = 0;
  for await (const chunk of response.body ?? []) {
    bytes += chunk.length;
    if (bytes > MAX_BYTES) throw new TypeError(`${name} sent more than ${MAX_BYTES} bytes`);
    json += text.decode(chunk, { stream: true });
  }
  return JSON.parse(json + text.decode());
}
