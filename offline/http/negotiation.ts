// Types for the content negotiation of npm's deno-std.

import * as std from "deno-std/http/negotiation.js";

interface Accepts {
  (request: Request): string[];
  (request: Request, ...offers: string[]): string | undefined;
}

export const accepts: Accepts = std.accepts;
export const acceptsEncodings: Accepts = std.acceptsEncodings;
export const acceptsLanguages: Accepts = std.acceptsLanguages;
