// Types for the content negotiation of npm's deno-std.

import * as std from "deno-std/http/negotiation.js";

interface Accepts {
  (request: Pick<Request, "headers">): string[];
  <T extends string>(
    request: Pick<Request, "headers">,
    ...offers: T[]
  ): T | undefined;
}

export const accepts: Accepts = std.accepts;
export const acceptsEncodings: Accepts = std.acceptsEncodings;
export const acceptsLanguages: Accepts = std.acceptsLanguages;
