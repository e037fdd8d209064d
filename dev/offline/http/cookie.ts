// Types for the cookie functions of npm's deno-std.

import * as std from "deno-std/http/cookie.js";

/** A `Set-Cookie` header, RFC 6265. */
export interface Cookie {
  name: string;
  value: string;
  expires?: Date | number;
  maxAge?: number;
  domain?: string;
  path?: string;
  secure?: boolean;
  httpOnly?: boolean;
  partitioned?: boolean;
  sameSite?: "Strict" | "Lax" | "None";
  unparsed?: string[];
}

export const getCookies: (headers: Headers) => Record<string, string> = std.getCookies;
export const getSetCookies: (headers: Headers) => Cookie[] = std.getSetCookies;
export const setCookie: (headers: Headers, cookie: Cookie) => void = std.setCookie;
export const deleteCookie: (
  headers: Headers,
  name: string,
  attributes?: Pick<
    Cookie,
    "domain" | "path" | "secure" | "httpOnly" | "partitioned"
  >,
) => void = std.deleteCookie;
