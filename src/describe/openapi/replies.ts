/** Replies of the document: what a route answers with, by status. */
import { STATUS_TEXT } from "@std/http/status";
import * as v from "valibot";
import { isAsyncGeneratorFunction } from "../../binding/async_function.ts";
import { WITHOUT_BODY } from "../../http/reply.ts";
import type { Route } from "../../routing/route.ts";
import { nodeOf, type Schema } from "../../schema/schema.ts";
import { isAlwaysSent } from "../json_schema/optionality.ts";
import type { ErrorReplies } from "./error_replies.ts";
import { BYTES, isBinary, mediaTypesOf } from "../json_schema/non_json.ts";
import { type Models, pascalCase } from "../json_schema/models.ts";
import type { OpenAPIMediaType, OpenAPIOperation, OpenAPIReference, OpenAPIResponse } from "./document.ts";

type Reply = OpenAPIResponse | OpenAPIReference;
type Content = Record<string, OpenAPIMediaType>;
type Replies = readonly (readonly [status: number, reply: OpenAPIResponse])[];

/** What is read of a route. */
type AnsweringRoute = Pick<Route, "handler" | "operationId" | "options">;

/**
 * The replies of a route, by status.
 *
 * @param route The route.
 * @param canBeInvalid Whether its input can be refused with 422.
 * @param models Takes up the models that are met.
 * @param errors Takes up the error replies that are met.
 */
export function repliesOf(
  route: AnsweringRoute,
  canBeInvalid: boolean,
  models: Models,
  errors: ErrorReplies,
): OpenAPIOperation["responses"] {
  const { operationId, options: { responses = {} } } = route;
  const success = successOf(route, models);
  const replies: (readonly [status: number | string, reply: Reply])[] = [...errors.of(canBeInvalid), ...success];
  for (const [code, schema] of Object.entries(responses)) {
    const status = Number(code);
    if (success.some(([known]) => known === status)) continue;
    const type = status < 400 ? "application/json" : errors.contentType;
    const content = contentOf(schema, type, `${pascalCase(operationId)}Result${code}`, models);
    replies.push([status, reply(status, content, schema)]);
  }
  return byStatus(replies);
}

/** More than any status. */
const FAR = 1_000_000;

/**
 * The replies as an object, the last one of each status.
 *
 * V8 keeps the values of keys that are numbers in an array, of some 600 places for a 422: most of the document, and of the time to
 * make it. A key that is far from the others has it keep them in a dictionary, and it stays with that.
 */
function byStatus(replies: Iterable<readonly [status: number | string, reply: Reply]>): Record<string, Reply> {
  const object: Record<string, Reply | undefined> = { [FAR]: undefined };
  for (const [status, reply] of replies) object[status] = reply;
  delete object[FAR];
  return object as Record<string, Reply>;
}

function successOf({ handler, operationId, options }: AnsweringRoute, models: Models): Replies {
  const { response, responses = {}, status } = options;
  if (isAsyncGeneratorFunction(handler)) {
    return streamed(status ?? 200, response ?? responses[status ?? 200], operationId, models);
  }
  return response ? modelled(response, status, operationId, models) : unmodelled(status, responses);
}

/** The values of a generator, each of which is a line. Without a model they may be bytes, which are sent as they are. */
function streamed(status: number, item: Schema | undefined, operationId: string, models: Models): Replies {
  const line = item && { "x-itemSchema": models.jsonOutput(item, `${pascalCase(operationId)}Item`) };
  const mayBeBytes = !item || item.type === "instance";
  const content: Content = {
    "application/jsonl": line ?? {},
    ...(mayBeBytes && { "application/octet-stream": { schema: BYTES } }),
  };
  return [[status, reply(status, content, item)]];
}

/** A result that is reduced to its model. Where that is `undefined`, there is nothing to send. */
function modelled(model: Schema, status: number | undefined, operationId: string, models: Models): Replies {
  const content = contentOf(model, "application/json", `${pascalCase(operationId)}Result`, models);
  if (!content) return [[status ?? 204, reply(status ?? 204, content, model)]];
  const sent = [status ?? 200, reply(status ?? 200, content, model)] as const;
  return status === undefined && !isAlwaysSent(model) ? [sent, [204, reply(204)]] : [sent];
}

/**
 * The reply of a route that declares no model: JSON, which most handlers return. What a handler
 * returns besides is not known here. If the route declares a success among its `responses`, that is
 * its only one.
 */
function unmodelled(status: number | undefined, declared: Readonly<Record<number, Schema>>): Replies {
  const isDeclared = status === undefined
    ? Object.keys(declared).some((code) => Number(code) < 400)
    : status in declared;
  if (isDeclared) return [];
  const isRedirect = status !== undefined && status >= 300 && status < 400;
  return [[status ?? 200, reply(status ?? 200, isRedirect ? undefined : { "application/json": {} })]];
}

function reply(status: number, content?: Content, schema?: Schema): OpenAPIResponse {
  const description = (schema && v.getDescription(schema as v.GenericSchema)) ??
    STATUS_TEXT[status as keyof typeof STATUS_TEXT] ?? `Status ${status}`;
  return { description, ...(content && !WITHOUT_BODY.has(status) && { content }) };
}

function contentOf(schema: Schema, type: string, name: string, models: Models): Content | undefined {
  if (schema.type === "void" || schema.type === "undefined") return undefined;
  // A file, or an instance of what may be a stream, is sent as it is.
  if (isBinary(schema) || schema.type === "instance") {
    const types = mediaTypesOf(nodeOf(schema));
    return Object.fromEntries((types.length > 0 ? types : ["*/*"]).map((mediaType) => [mediaType, { schema: BYTES }]));
  }
  return { [type]: { schema: models.jsonOutput(schema, name) } };
}
