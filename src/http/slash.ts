/** Redirects to the same path with a slash at its end. */
import { mountedOf } from "./connection.ts";
import { redirect } from "./reply.ts";
import { contextOf, type HttpRequest } from "./request.ts";

/**
 * Whether the path that the client asked for is that of a mount without a slash. The mounted
 * application sees `/`, but relative links of its page would begin above the mount.
 */
export function isMountWithoutSlash(request: HttpRequest<unknown>): boolean {
  return mountedOf(contextOf(request).connection)?.isWithoutSlash === true && request.path === "/";
}

/** Redirects to the path with a slash at its end. */
export function redirectToSlash(request: HttpRequest<unknown>): Response {
  const path = isMountWithoutSlash(request) ? request.basePath : request.path;
  const query = request.raw.url.slice(contextOf(request).pathEnd).replace(/#.*$/s, "");
  // Relative, because a proxy may take a prefix off without saying so.
  return redirect(`./${path.slice(path.lastIndexOf("/") + 1)}/${query}`, 301);
}
