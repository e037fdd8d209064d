/** Replies of blobs and files: whole, in part, or not at all where the client has them. */
import { eTag } from "@std/http/etag";
import { HTTPError } from "../errors.ts";
import { byteRangeOf } from "./byte_range.ts";
import { attachment } from "./content_disposition.ts";
import { ServedFile } from "./file.ts";
import { isSameForRange, outcomeOf, type Validators, validatorsOfFile } from "./precondition.ts";
import { ReplyStream, toBytes, valuesOf } from "./stream_reply.ts";
import type { HttpRequest } from "./request.ts";
import { UploadedFile } from "./uploaded_file.ts";

/** A larger blob is not read through for its tag. */
const MAX_TAGGED_SIZE = 1024 * 1024;

/**
 * A reply of a blob.
 *
 * A GET or HEAD is answered by its conditions and its range. A file on disk has a tag of its size and time, a blob in memory one of
 * its content, up to a mebibyte.
 *
 * @param blob What to send.
 * @param status The status; any but 200 sends the whole.
 * @param request Whose reply it is.
 * @throws {HTTPError} With 412, when a condition fails; with 416, when nothing is within the range.
 */
export async function blobReply(blob: Blob, status: number, request: HttpRequest): Promise<Response> {
  const { headers: asked, method } = request.raw;
  const headers = headersOf(blob);
  if (status !== 200 || (method !== "GET" && method !== "HEAD")) return replyOf(blob, status, headers);
  const validators = await validatorsOf(blob);
  const { etag, lastModified } = validators;
  headers.set("accept-ranges", "bytes");
  if (etag !== undefined) headers.set("etag", etag);
  if (lastModified) headers.set("last-modified", lastModified.toUTCString());
  switch (outcomeOf(asked, validators)) {
    case "failed":
      throw new HTTPError(412, "The content is not the version that was asked for");
    case "unmodified":
      headers.delete("content-type");
      return new Response(null, { status: 304, headers });
  }
  // A HEAD has no range, and nothing of what is empty can be within one.
  const isPartial = method === "GET" && blob.size > 0 && asked.has("range") && isSameForRange(asked, validators);
  const range = isPartial ? byteRangeOf(asked.get("range"), blob.size) : undefined;
  if (range === undefined) return replyOf(blob, 200, headers);
  if (range === null) {
    throw new HTTPError(416, `The content has ${blob.size} bytes, of which none is within the range`, {
      headers: { "content-range": `bytes */${blob.size}` },
    });
  }
  headers.set("content-range", `bytes ${range.first}-${range.last}/${blob.size}`);
  return replyOf(blob.slice(range.first, range.last + 1), 206, headers);
}

function headersOf(blob: Blob): Headers {
  const type = blob.type === "" ? "application/octet-stream" : blob.type;
  const headers = new Headers({ "content-type": type, "x-content-type-options": "nosniff" });
  const name = savedName(blob);
  if (name !== undefined) headers.set("content-disposition", attachment(name));
  return headers;
}

/** What a client has sent is of the type that it says: shown by a browser it could run scripts as the application's own. */
function savedName(blob: Blob): string | undefined {
  if (blob instanceof ServedFile) return blob.savedAs;
  return blob instanceof UploadedFile ? blob.name : undefined;
}

async function validatorsOf(blob: Blob): Promise<Validators> {
  if (blob instanceof ServedFile) return await validatorsOfFile(blob.size, new Date(blob.lastModified));
  return blob.size > MAX_TAGGED_SIZE ? {} : { etag: await eTag(await blob.bytes()) };
}

function replyOf(blob: Blob, status: number, headers: Headers): Response {
  headers.set("content-length", String(blob.size));
  const stream = new ReplyStream(valuesOf(blob.stream()), toBytes);
  return new Response(new ReadableStream(stream, { highWaterMark: 0 }), { status, headers });
}
