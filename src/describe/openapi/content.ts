/** The content of replies in the document, by media type. */
import { type DeclaredReply, isDeclaredReply, STREAM_TYPES } from "../../http/replies/declared_reply.ts";
import { isBinary, nodeOf, type Schema } from "../../schema/schema.ts";
import type { JsonSchema } from "../json_schema/json_schema.ts";
import type { Models } from "../json_schema/models.ts";
import { BYTES, mediaTypesOf } from "../json_schema/values.ts";
import type { OpenAPIMediaType } from "./document.ts";

export type Content = Record<string, OpenAPIMediaType>;

/** `type` is the media type of JSON, `name` names an object without a title. */
export function contentOf(schema: Schema, type: string, name: string, models: Models): Content | undefined {
  if (isDeclaredReply(schema)) return declaredContent(schema, name, models);
  if (schema.type === "void" || schema.type === "undefined") return undefined;
  // Files and instances, which may be streams, are sent unchanged.
  if (isBinary(schema) || schema.type === "instance") {
    const types = mediaTypesOf(nodeOf(schema));
    return Object.fromEntries((types.length > 0 ? types : ["*/*"]).map((mediaType) => [mediaType, { schema: BYTES }]));
  }
  return { [type]: { schema: models.jsonOutput(schema, name) } };
}

/** Without a model, a generator may also yield bytes. */
export function generatedContent(item: Schema | undefined, name: string, models: Models): Content {
  const mayBeBytes = !item || item.type === "instance";
  return {
    [STREAM_TYPES.json_lines]: item ? linesOf(models.jsonOutput(item, name)) : {},
    ...(mayBeBytes && { "application/octet-stream": { schema: BYTES } }),
  };
}

function declaredContent(declared: DeclaredReply, name: string, models: Models): Content | undefined {
  switch (declared.type) {
    case "events": {
      const data = declared.item && models.jsonOutput(declared.item, name);
      return { [STREAM_TYPES.events]: eventsOf(data) };
    }
    case "json_lines":
      return { [STREAM_TYPES.json_lines]: linesOf(models.jsonOutput(declared.item, name)) };
    case "bytes":
      return contentOfType(declared.mediaType, BYTES);
    case "text":
      return contentOfType(declared.mediaType, { type: "string" });
    case "replies":
      // Each of its replies has content of its own.
      return undefined;
  }
}

/** Not the schema of an array: openapi-python-client would parse the whole body as one. */
function linesOf(item: JsonSchema): OpenAPIMediaType {
  return { "x-itemSchema": item };
}

/** Without its data. */
export const EVENT_FIELDS: Readonly<Record<"id" | "event" | "retry", JsonSchema>> = {
  id: { type: "string", description: "What a client resumes after, as `Last-Event-ID`." },
  event: {
    type: "string",
    description:
      "The name of the event; without one it is `message`. `webfw.gap` says that messages are missing, with `reason`, `from` and `oldest` as data.",
  },
  retry: {
    type: "integer",
    format: "int64",
    minimum: 0,
    description: "The milliseconds after which a client connects again.",
  },
};

/**
 * The form of OpenAPI 3.2, with data as a string. The schema of the reply is that of the data for
 * generators whose clients parse it, such as hey-api.
 */
function eventsOf(data: JsonSchema | undefined): OpenAPIMediaType {
  const text: JsonSchema = {
    type: "string",
    ...(data && { contentMediaType: "application/json", contentSchema: data }),
  };
  const event: JsonSchema = { type: "object", properties: { ...EVENT_FIELDS, data: text } };
  return { ...(data && { schema: data }), "x-itemSchema": event };
}

/** Strings or bytes of JSON have no schema: that of a string would be wrong. */
function contentOfType(mediaType: string, schema: JsonSchema): Content {
  const type = withoutParameters(mediaType);
  return { [type]: /^[^/]+\/(?:.+\+)?json$/i.test(type) ? {} : { schema } };
}

function withoutParameters(mediaType: string): string {
  return mediaType.split(";", 1)[0]!.trimEnd();
}
