/** The middleware of security headers. */
import { checkOptions, type Duration, type OptionNames, quote, readOptions, toMilliseconds } from "../base/options.ts";
import { contextOf } from "../http/request.ts";
import type { Middleware } from "../routing/middleware.ts";

/**
 * The options of {@linkcode secureHeaders}. Null omits a header.
 *
 * @category Middleware
 */
export interface SecureHeadersOptions {
  /**
   * The `Content-Security-Policy`: a string, or the sources of each directive. `frameAncestors`
   * adds `frame-ancestors` if it has none.
   *
   * @default {"default-src 'self'; base-uri 'self'; form-action 'self'; object-src 'none'"}
   */
  contentSecurityPolicy?: string | Readonly<Record<string, readonly string[]>> | null;
  /**
   * The pages that may frame a reply: `"none"`, those of this origin (`"self"`), or an array of
   * origins. Sets `frame-ancestors` of the policy, and `X-Frame-Options` for older browsers.
   *
   * @default {"none"}
   */
  frameAncestors?: "none" | "self" | readonly string[] | null;
  /**
   * The `Strict-Transport-Security` of replies over HTTPS, after which browsers refuse HTTP. Behind
   * a proxy that terminates TLS, the application needs `trustProxy`.
   *
   * @default {{ maxAge: "365d", includeSubDomains: true, preload: false }}
   */
  hsts?: HstsOptions | null;
  /**
   * The part of a page's URL that other sites get as `Referer`.
   *
   * @default {"strict-origin-when-cross-origin"}
   */
  referrerPolicy?: ReferrerPolicyName | readonly ReferrerPolicyName[] | null;
  /**
   * Whether to send `X-Content-Type-Options: nosniff`, so that browsers do not guess types.
   *
   * @default {true}
   */
  noSniff?: boolean;
  /**
   * The `Cross-Origin-Opener-Policy`: which pages share a browsing context group.
   *
   * @default {"same-origin"}
   */
  crossOriginOpenerPolicy?: "same-origin" | "same-origin-allow-popups" | "noopener-allow-popups" | "unsafe-none" | null;
  /**
   * The `Cross-Origin-Resource-Policy`: which pages may embed a reply, such as an image. For
   * requests of scripts, see CORS.
   *
   * @default {"same-origin"}
   */
  crossOriginResourcePolicy?: "same-origin" | "same-site" | "cross-origin" | null;
  /**
   * The `Cross-Origin-Embedder-Policy`, required for shared memory.
   *
   * @default {null}
   */
  crossOriginEmbedderPolicy?: "require-corp" | "credentialless" | "unsafe-none" | null;
  /**
   * The `Permissions-Policy`, such as `"camera=(), geolocation=(self)"`.
   *
   * @default {null}
   */
  permissionsPolicy?: string | null;
}

/** The option `hsts`. */
export interface HstsOptions {
  /**
   * How long browsers refuse HTTP, from each reply on.
   *
   * @default {"365d"}
   */
  maxAge?: Duration;
  /**
   * Whether it includes all subdomains.
   *
   * @default {true}
   */
  includeSubDomains?: boolean;
  /**
   * Whether browsers may preload it (hstspreload.org), which is hard to undo.
   *
   * @default {false}
   */
  preload?: boolean;
}

/** @ignore A value of `Referrer-Policy`. */
export type ReferrerPolicyName =
  | "no-referrer"
  | "no-referrer-when-downgrade"
  | "origin"
  | "origin-when-cross-origin"
  | "same-origin"
  | "strict-origin"
  | "strict-origin-when-cross-origin"
  | "unsafe-url";

/**
 * Between the policies of OWASP's cheat sheet and of helmet. It breaks no page with resources of
 * its own origin. No `upgrade-insecure-requests`, which breaks pages over HTTP.
 */
const POLICY = "default-src 'self'; base-uri 'self'; form-action 'self'; object-src 'none'";

/** The default of each option. A null omits the header. */
const DEFAULTS: Required<SecureHeadersOptions> = {
  contentSecurityPolicy: POLICY,
  frameAncestors: "none",
  hsts: {},
  referrerPolicy: "strict-origin-when-cross-origin",
  noSniff: true,
  crossOriginOpenerPolicy: "same-origin",
  crossOriginResourcePolicy: "same-origin",
  crossOriginEmbedderPolicy: null,
  permissionsPolicy: null,
};
const HSTS_OPTIONS: OptionNames<HstsOptions> = { maxAge: true, includeSubDomains: true, preload: true };

const ACTION = "make secureHeaders()";

/**
 * Adds security headers to each reply. The defaults follow OWASP (HTTP Security Response Headers
 * Cheat Sheet), MDN and helmet: a content policy, no frames, only HTTPS, no guessed types, and
 * isolation from other origins.
 *
 * Headers of the reply are kept: a handler can set its own policy, as the documentation page does.
 *
 * @example A page that a partner may show in a frame
 * ```ts
 * import { App, html } from "@webfw/core";
 * import { secureHeaders } from "@webfw/core/middleware";
 * import { assertEquals } from "@std/assert";
 *
 * const app = new App();
 * app.middleware(secureHeaders({
 *   contentSecurityPolicy: { "default-src": ["'self'"], "img-src": ["'self'", "https://images.example"] },
 *   frameAncestors: ["https://partner.example"],
 * }));
 * app.get("/", async () => html("<h1>Books</h1>"));
 * const { headers } = await app.fetch(new Request("http://localhost/"));
 * assertEquals(
 *   headers.get("content-security-policy"),
 *   "default-src 'self'; img-src 'self' https://images.example; frame-ancestors https://partner.example",
 * );
 * assertEquals(headers.get("referrer-policy"), "strict-origin-when-cross-origin");
 * ```
 *
 * @category Middleware
 */
export function secureHeaders(options: SecureHeadersOptions = {}): Middleware<unknown> {
  const given = readOptions(options, DEFAULTS, ACTION);
  const all = { ...DEFAULTS, ...given };
  const policy = policyOf(all, given.frameAncestors !== undefined);
  const frameOptions = frameOptionsOf(policy);
  const hsts = all.hsts === null ? null : hstsOf(all.hsts);
  const others = othersOf(all);
  return async (request, next) => {
    const response = await next(request);
    const { headers } = response;
    const own = headers.get("content-security-policy");
    if (own === null && policy !== null) headers.set("content-security-policy", policy);
    // Older browsers would apply it, against the `frame-ancestors` of the reply.
    if (frameOptions !== null && !(own !== null && /\bframe-ancestors\b/i.test(own))) {
      setMissing(headers, "x-frame-options", frameOptions);
    }
    // RFC 6797, section 7.2: not over HTTP.
    if (hsts !== null && contextOf(request).url.startsWith("https:")) {
      setMissing(headers, "strict-transport-security", hsts);
    }
    for (const [name, value] of others) setMissing(headers, name, value);
    return response;
  };
}

function setMissing(headers: Headers, name: string, value: string): void {
  if (!headers.has(name)) headers.set(name, value);
}

function policyOf(
  { contentSecurityPolicy, frameAncestors }: Required<SecureHeadersOptions>,
  isFramingGiven: boolean,
): string | null {
  const base = contentSecurityPolicy === null ? "" : policyText(contentSecurityPolicy);
  const hasFrames = /(?:^|;)\s*frame-ancestors\b/i.test(base);
  if (hasFrames && isFramingGiven) {
    throw new TypeError(
      `Cannot ${ACTION}: the contentSecurityPolicy has frame-ancestors already, leave out "frameAncestors"`,
    );
  }
  const frames = hasFrames || frameAncestors === null ? "" : `frame-ancestors ${sourcesOf(frameAncestors)}`;
  const policy = [base, frames].filter((part) => part !== "").join("; ");
  return policy === "" ? null : checkValue(policy, "contentSecurityPolicy");
}

function policyText(policy: string | Readonly<Record<string, readonly string[]>>): string {
  if (typeof policy === "string") return policy.replace(/[\s;]+$/, "");
  if (typeof policy !== "object") {
    throw new TypeError(`Cannot ${ACTION}: contentSecurityPolicy must be a string or an object, got ${quote(policy)}`);
  }
  return Object.entries(policy).map(([directive, sources]) => {
    if (!/^[a-z][a-z-]*$/.test(directive) || !Array.isArray(sources) || !sources.every(isSource)) {
      throw new TypeError(
        `Cannot ${ACTION}: contentSecurityPolicy "${directive}" must be an array of sources, such as { "img-src": ["'self'"] }`,
      );
    }
    return [directive, ...sources].join(" ");
  }).join("; ");
}

/** Whether a string is one source: a space, comma or semicolon begins another. */
function isSource(source: unknown): boolean {
  return typeof source === "string" && /^[\x21-\x7e]+$/.test(source) && !/[,;]/.test(source);
}

function sourcesOf(ancestors: "none" | "self" | readonly string[]): string {
  if (ancestors === "none" || ancestors === "self") return `'${ancestors}'`;
  if (Array.isArray(ancestors) && ancestors.length > 0 && ancestors.every(isSource)) return ancestors.join(" ");
  throw new TypeError(
    `Cannot ${ACTION}: frameAncestors must be "none", "self" or an array of origins, got ${quote(ancestors)}`,
  );
}

/** `X-Frame-Options` has no value for other origins. */
function frameOptionsOf(policy: string | null): string | null {
  const ancestors = /(?:^|;)\s*frame-ancestors\s+([^;]*)/i.exec(policy ?? "")?.[1]?.trim().toLowerCase();
  return ancestors === "'none'" ? "DENY" : ancestors === "'self'" ? "SAMEORIGIN" : null;
}

function hstsOf(options: HstsOptions): string {
  checkOptions(options, HSTS_OPTIONS, ACTION, "hsts.");
  const { maxAge = "365d", includeSubDomains = true, preload = false } = options;
  const seconds = Math.floor(toMilliseconds(maxAge, "hsts.maxAge") / 1000);
  return `max-age=${seconds}${includeSubDomains ? "; includeSubDomains" : ""}${preload ? "; preload" : ""}`;
}

function othersOf(
  { noSniff, referrerPolicy, ...others }: Required<SecureHeadersOptions>,
): readonly (readonly [name: string, value: string])[] {
  const values: readonly (readonly [option: keyof SecureHeadersOptions, header: string, value: string | null])[] = [
    ["referrerPolicy", "referrer-policy", referrerPolicy === null ? null : [referrerPolicy].flat().join(", ")],
    ["noSniff", "x-content-type-options", noSniff ? "nosniff" : null],
    ["crossOriginOpenerPolicy", "cross-origin-opener-policy", others.crossOriginOpenerPolicy],
    ["crossOriginResourcePolicy", "cross-origin-resource-policy", others.crossOriginResourcePolicy],
    ["crossOriginEmbedderPolicy", "cross-origin-embedder-policy", others.crossOriginEmbedderPolicy],
    ["permissionsPolicy", "permissions-policy", others.permissionsPolicy],
  ];
  return values.flatMap(([option, header, value]) => value === null ? [] : [[header, checkValue(value, option)]]);
}

function checkValue(value: string, option: keyof SecureHeadersOptions): string {
  if (typeof value === "string" && /^[\x20-\x7e]*[\x21-\x7e]$/.test(value)) return value;
  throw new TypeError(`Cannot ${ACTION}: ${option} must be a string of printable ASCII, got ${quote(value)}`);
}
