// Checks replies against the document.

import { type Operation, replyOf } from "./operations.ts";
import type { Schema, Schemas } from "./schemas.ts";

/** A reply, read. */
export interface Received {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
}

/** The differences between a reply and the document. */
export function faultsOfReply(received: Received, operation: Operation, schemas: Schemas): string[] {
  const { status, headers, text } = received;
  if (status < 300 && isUnmodelled(operation)) return [];
  const reply = replyOf(operation, status);
  if (!reply) return [`the status ${status} is not documented`];
  if (!reply.content) return text === "" ? [] : [`a reply ${status} has a body, of which nothing is documented`];
  const type = headers.get("content-type")?.split(";")[0] ?? "";
  const media = reply.content[type] ?? reply.content["*/*"];
  if (!media) return [`the content type "${type}" of ${status} is not documented`];
  if (operation.method === "HEAD") return text === "" ? [] : ["a reply to HEAD has a body"];
  const { schema, "x-itemSchema": item } = media;
  if (item !== undefined) return text.split("\n").slice(0, -1).flatMap((line) => faultsOfJson(line, item, schemas));
  return schema === undefined || schema.format === "binary" ? [] : faultsOfJson(text, schema, schemas);
}

/**
 * Whether a route declares no model. Then its handler may send anything, and the document only
 * gives the usual type.
 */
export function isUnmodelled({ replies }: Operation): boolean {
  return Object.entries(replies).some(([status, { content = {} }]) => {
    const media = content["application/json"];
    return status.startsWith("2") && media !== undefined && media.schema === undefined;
  });
}

function faultsOfJson(text: string, schema: Schema, schemas: Schemas): string[] {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return ["the body is no JSON"];
  }
  return schemas.verdict(schema, value) === "invalid" ? ["the body is not as documented"] : [];
}
