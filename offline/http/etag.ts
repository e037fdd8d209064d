// Types for the entity tags of npm's deno-std.

import * as std from "deno-std/http/etag.js";

export const ifNoneMatch: (value: string | null, etag: string | undefined) => boolean = std.ifNoneMatch;
