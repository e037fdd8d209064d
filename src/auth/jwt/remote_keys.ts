/** The public keys of an issuer, from its JSON Web Key Set (RFC 7517). */
import { load } from "../../base/async_context.ts";
import { HTTPError } from "../../base/errors.ts";
import { isLoopbackName } from "../../http/host.ts";
import { describeError, detached, log } from "../../log/log.ts";
import { InvalidToken, type JwtCryptoKey, type JwtHeader } from "./token.ts";

/** Older keys are fetched again. */
const MAX_AGE_MS = 600_000;
/** Older keys are invalid, even if their URL does not respond. */
const MAX_STALE_MS = 24 * 3_600_000;
/** Between two fetches for an unknown or stale key. */
const UNKNOWN_KEY_MS = 30_000;
/** Between a failed fetch and the next one. */
const FAILED_MS = 1_000;
/** For all requests of one fetch together. */
const FETCH_MS = 5_000;
/** Of a document. Large key sets have some ten thousand. */
const MAX_BYTES = 1_048_576;

type FindKey = (header: JwtHeader) => Promise<JwtCryptoKey>;

interface Fetched<Value> {
  readonly value: Value;
  readonly at: number;
}

// Not createRemoteJWKSet of jose: it drops keys after 10 minutes, waits 5 s in each request while
// their URL does not respond, finds no key that was added within 30 s of a fetch, and neither
// discovers the URL nor bounds the size.
export class RemoteKeys {
  readonly #issuer: string;
  /** Undefined for OpenID Connect Discovery. */
  readonly #url: string | undefined;
  #published: Fetched<string> | undefined;
  #keys: Fetched<FindKey> | undefined;
  #pending: Promise<FindKey> | undefined;
  /** The last fetch for an unknown key. */
  #unknownAt = -Infinity;
  #failedAt = -Infinity;

  /** @throws {TypeError} If the URL uses neither HTTPS nor a loopback host. */
  constructor(issuer: string, url: string | undefined, action: string) {
    this.#issuer = issuer;
    this.#url = url;
    if (isSafe(url ?? issuer)) return;
    const option = url === undefined ? 'without "keys", "issuer"' : '"keys"';
    throw new TypeError(
      `Cannot ${action}: ${option} must be an https: URL, or one of a loopback host, got "${url ?? issuer}"`,
    );
  }

  /** @throws {InvalidToken | HTTPError} If there is no key, or with 503 without any keys. */
  async find(header: JwtHeader): Promise<JwtCryptoKey> {
    const keys = isWithin(this.#keys, MAX_STALE_MS) ? this.#keys : undefined;
    const known = keys && await findKey(keys.value, header);
    const fresh = isWithin(keys, MAX_AGE_MS) ? keys : undefined;
    if (!known) return await this.#findUnknown(header, fresh);
    return fresh ? known : await this.#findStale(header, known, keys.at);
  }

  /** Fetches again: the issuer may have withdrawn the key. */
  async #findStale(header: JwtHeader, known: JwtCryptoKey, fetchedAt: number): Promise<JwtCryptoKey> {
    if (this.#failedAt >= fetchedAt + MAX_AGE_MS) {
      // The URL does not respond, so further requests do not wait.
      const isDue = Date.now() - this.#failedAt >= UNKNOWN_KEY_MS;
      if (isDue && !this.#pending) detached(() => this.#fetchOnce()).catch(() => {});
      return known;
    }
    const fetched = await this.#fetchOnce().catch(() => undefined);
    if (!fetched) return known;
    return await requireKey(fetched, header);
  }

  async #findUnknown(header: JwtHeader, fresh: Fetched<FindKey> | undefined): Promise<JwtCryptoKey> {
    if (!this.#pending) {
      const hasFailed = this.#failedAt > (fresh?.at ?? -Infinity);
      const wait = fresh ? this.#unknownAt + UNKNOWN_KEY_MS - Date.now() : this.#failedAt + FAILED_MS - Date.now();
      if (wait > 0 && wait <= UNKNOWN_KEY_MS) throw hasFailed ? unavailable(wait) : new InvalidToken();
      if (fresh) this.#unknownAt = Date.now();
    }
    return await requireKey(await this.#fetchOnce(), header);
  }

  /** One fetch serves all callers. */
  #fetchOnce(): Promise<FindKey> {
    return this.#pending ??= this.#fetch();
  }

  async #fetch(): Promise<FindKey> {
    try {
      const value = await withDeadline((signal) => this.#fetchKeys(signal));
      this.#keys = { value, at: Date.now() };
      return value;
    } catch (failure) {
      this.#failedAt = Date.now();
      // The messages of the platform contain the query, which can be a credential.
      const { search } = new URL(this.#url ?? this.#issuer);
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
    const keys = await fetchJson(this.#url ?? await this.#discover(signal), signal);
    const { createLocalJWKSet } = await load(() => import("jose/jwks/local"));
    const find = createLocalJWKSet(keys as Parameters<typeof createLocalJWKSet>[0]);
    return (header) => find({ ...header });
  }

  /** The URL of the keys by OpenID Connect Discovery 1.0. */
  async #discover(signal: AbortSignal): Promise<string> {
    if (isWithin(this.#published, MAX_AGE_MS)) return this.#published!.value;
    const document = await fetchJson(`${this.#issuer.replace(/\/$/, "")}/.well-known/openid-configuration`, signal);
    const { issuer, jwks_uri: url } = (document ?? {}) as { readonly issuer?: unknown; readonly jwks_uri?: unknown };
    // Section 4.3: otherwise another issuer could impersonate this one.
    if (issuer !== this.#issuer) throw new TypeError(`The configuration is not that of ${this.#issuer}`);
    if (typeof url !== "string" || !isSafe(url)) {
      throw new TypeError("The configuration has no jwks_uri of HTTPS or of this machine");
    }
    this.#published = { value: url, at: Date.now() };
    return url;
  }
}

/** Also false if the clock was set back. */
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
    // Several keys fit, or the platform does not support the kind of the key.
    throw new InvalidToken();
  }
}

async function requireKey(find: FindKey, header: JwtHeader): Promise<JwtCryptoKey> {
  const found = await findKey(find, header);
  if (found) return found;
  throw new InvalidToken();
}

function unavailable(waitMs: number): HTTPError {
  return new HTTPError(503, "The keys that verify tokens cannot be fetched", {
    headers: { "retry-after": String(Math.ceil(waitMs / 1000)) },
  });
}

/** HTTPS or loopback: no network between can change the response. */
function isSafe(url: string): boolean {
  if (!URL.canParse(url)) return false;
  const { protocol, hostname } = new URL(url);
  return protocol === "https:" || (protocol === "http:" && isLoopbackName(hostname));
}

async function withDeadline<Value>(work: (signal: AbortSignal) => Promise<Value>): Promise<Value> {
  const controller = new AbortController();
  const timer = setTimeout(() => {
    controller.abort(new DOMException(`There is no response within ${FETCH_MS / 1000} s`, "TimeoutError"));
  }, FETCH_MS);
  try {
    return await work(controller.signal);
  } finally {
    clearTimeout(timer);
  }
}

/** @throws {TypeError} If the response is a redirect, too large, or not JSON. */
async function fetchJson(url: string, signal: AbortSignal): Promise<unknown> {
  const headers = { accept: "application/json" };
  // Messages are logged, and the rest of a URL can contain credentials.
  const { origin, pathname } = new URL(url);
  const name = `${origin}${pathname}`;
  // A redirect could lead to an unsafe URL.
  const response = await fetch(url, { signal, headers, redirect: "manual" });
  if (response.status !== 200) {
    await response.body?.cancel();
    throw new TypeError(`${name} answered with status ${response.status}`);
  }
  const decoder = new TextDecoder();
  let json = "";
  let bytes = 0;
  for await (const chunk of response.body ?? []) {
    bytes += chunk.length;
    if (bytes > MAX_BYTES) throw new TypeError(`${name} sent more than ${MAX_BYTES} bytes`);
    json += decoder.decode(chunk, { stream: true });
  }
  return JSON.parse(json + decoder.decode());
}
