/** What an agent may expect of a call, read off the method. */
import type { ToolAnnotations } from "../../http/route_info.ts";

/** Methods that change nothing (RFC 9110 section 9.2.1). */
const SAFE = new Set(["GET", "HEAD", "OPTIONS"]);
/** Methods that may be repeated (RFC 9110 section 9.2.2). */
const IDEMPOTENT = new Set([...SAFE, "PUT", "DELETE"]);

/**
 * The annotations of a tool. What HTTP does not promise of a method is not promised: a POST may destroy something.
 *
 * @param method The method of the route.
 * @param title A title for people, where there is one.
 * @param declared What the route says itself.
 */
export function annotationsOf(
  method: string,
  title: string | undefined,
  declared: ToolAnnotations = {},
): ToolAnnotations {
  const readOnlyHint = declared.readOnlyHint ?? SAFE.has(method);
  return {
    ...(title === undefined ? {} : { title }),
    destructiveHint: !readOnlyHint,
    idempotentHint: readOnlyHint || IDEMPOTENT.has(method),
    openWorldHint: false,
    ...declared,
    readOnlyHint,
  };
}
