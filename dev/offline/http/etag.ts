// Types for the entity tags of npm's deno-std.

import * as std from "deno-std/http/etag.js";

export const ifNoneMatch: (value: string | null, etag: string | undefined) => boolean = std.ifNoneMatch;

/** What is asked of a file to tag it. */
export interface FileInfo {
  mtime: Date | null;
  size: number;
}

/** How a tag is made. */
export interface ETagOptions {
  algorithm?: "SHA-1" | "SHA-256" | "SHA-384" | "SHA-512";
  weak?: boolean;
}

interface ETag {
  (entity: string | Uint8Array, options?: ETagOptions): Promise<string>;
  (entity: FileInfo, options?: ETagOptions): Promise<string | undefined>;
}

export const eTag: ETag = std.eTag;
export const ifMatch: (value: string | null, etag: string | undefined) => boolean = std.ifMatch;
