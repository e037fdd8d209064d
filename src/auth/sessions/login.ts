/** Where a browser without a session is sent. */
import { contextOf, type HttpRequest } from "../../http/request.ts";
import { quote } from "../../base/options.ts";

/**
 * A path of the same origin, as a URL has it. After `//`, and after a backslash, which browsers
 * take for a slash, a host would begin. They ignore tabs and line breaks.
 */
const OWN_PATH = /^\/(?!\/)[!-\[\]-~]*$/;

/**
 * Checks the path of a page to sign in at.
 *
 * @throws {TypeError} If it is not a path of the application.
 */
export function checkLoginPath(path: unknown, action: string): void {
  if (typeof path === "string" && OWN_PATH.test(path) && !path.includes("#")) return;
  throw new TypeError(
    `Cannot ${action}: "redirect" must be a path of the application in ASCII, such as "/login", got ${quote(path)}`,
  );
}

/**
 * The address to sign in at, with the path that was asked for as `next`. Undefined if the request
 * is not one of a browser for a page, or asks for that page already.
 */
export function loginAddress(request: HttpRequest, login: string): string | undefined {
  const { method, path, raw, basePath } = request;
  if ((method !== "GET" && method !== "HEAD") || !acceptsHtml(raw.headers)) return undefined;
  const [page] = login.split("?", 1);
  if (path === page) return undefined;
  const query = raw.url.slice(contextOf(request).pathEnd).split("#", 1)[0];
  const next = basePath + path + query;
  const address = basePath + login;
  if (!OWN_PATH.test(next)) return address;
  return `${address}${login.includes("?") ? "&" : "?"}next=${encodeURIComponent(next)}`;
}

/** Whether HTML is named: programs accept anything, and need the 401. */
function acceptsHtml(headers: Headers): boolean {
  const ranges = headers.get("accept")?.toLowerCase().split(",") ?? [];
  return ranges.some((range) => {
    const [type, ...parameters] = range.split(";").map((part) => part.trim());
    return type === "text/html" && !parameters.some((parameter) => /^q=0(?:\.0*)?$/.test(parameter));
  });
}
