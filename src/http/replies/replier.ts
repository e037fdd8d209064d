/** Makes the replies that routes declare. */
import { load } from "../../base/async_context.ts";
import type { Schema } from "../../schema/schema.ts";
import { DataReducer, mapValues, reducerTo } from "./model.ts";
import { text, toReply } from "../reply.ts";
import type { RequestContext } from "../context.ts";
import { EventStream, SSE } from "../sse/sse.ts";
import type { Stopping } from "../stream_reply.ts";
import { type DeclaredReply, isDeclaredReply } from "./declared_reply.ts";
import { ChosenReply } from "./replies.ts";

const ITEM = "the item";

export type Replier = (result: unknown, context: RequestContext, stopping: Stopping) => Response | Promise<Response>;

export function replierOf(declared: DeclaredReply, given: number | undefined, route: string): Replier {
  const status = given ?? 200;
  switch (declared.type) {
    case "events":
      return eventReplier(declared.item, status, route);
    case "json_lines":
      return lineReplier(declared.item, status, route);
    case "bytes":
      return byteReplier(declared.mediaType, status, route);
    case "text":
      return textReplier(declared.mediaType, status, route);
    case "replies":
      return statusReplier(declared.entries, given, route);
  }
}

/** The handler chooses a status by `reply()`; other results have the `fallback`. */
function statusReplier(entries: ReadonlyMap<number, Schema>, given: number | undefined, route: string): Replier {
  const fallback = given ?? Math.min(...entries.keys());
  const repliers = new Map(Array.from(entries, ([status, model]) => [status, modelReplier(model, status, route)]));
  return (result, context, stopping) => {
    const [status, value] = result instanceof ChosenReply ? [result["~status"], result["~value"]] : [fallback, result];
    const replier = repliers.get(status);
    if (replier) return replier(value, context, stopping);
    const known = [...entries.keys()].join(", ");
    throw new TypeError(
      `Cannot reply to ${route}: reply(${status}, …) has a status that its response does not declare, add it to Replies({ … }), which has ${known}`,
    );
  };
}

function modelReplier(model: Schema, status: number, route: string): Replier {
  if (isDeclaredReply(model)) return replierOf(model, status, route);
  const reduce = reducerTo(model, route, `the result of status ${status}`);
  return (result, context, stopping) => {
    const reduced = reduce(result);
    return reduced instanceof Promise
      ? reduced.then((value) => toReply(value, status, context, stopping))
      : toReply(reduced, status, context, stopping);
  };
}

function eventReplier(item: Schema | undefined, status: number, route: string): Replier {
  const reducer = item && new DataReducer(item, reducerTo(item, route, ITEM));
  return async (result, context, stopping) => {
    const { eventReply } = await load(() => import("../sse/reply.ts"));
    const stream = result instanceof EventStream ? result : SSE(iterableOf(result, "SSE(…)", route));
    return eventReply(stream, context, status, stopping, reducer);
  };
}

function lineReplier(line: Schema, status: number, route: string): Replier {
  const reduce = reducerTo(line, route, ITEM);
  return async (result, context, stopping) => {
    const { iterableReply } = await load(() => import("../stream_reply.ts"));
    const lines = mapValues(iterableOf(result, "an async iterable", route), reduce);
    return await iterableReply(lines, status, context, stopping, true);
  };
}

function byteReplier(type: string, status: number, route: string): Replier {
  const headers = { "content-type": type, "x-content-type-options": "nosniff" };
  return (result, context, stopping) => {
    if (result instanceof Blob) {
      return load(() => import("../files/conditional.ts")).then(({ blobReply }) =>
        blobReply(result, status, context, type)
      );
    }
    if (result instanceof ReadableStream) {
      return load(() => import("../stream_reply.ts")).then(({ byteStreamReply }) =>
        byteStreamReply(result, status, context, stopping, type)
      );
    }
    if (!(result instanceof Uint8Array)) throw misfit(result, "a Blob, a ReadableStream or a Uint8Array", route);
    return new Response(result as Uint8Array<ArrayBuffer>, { status, headers });
  };
}

function textReplier(mediaType: string, status: number, route: string): Replier {
  const type = /;\s*charset=/i.test(mediaType) ? mediaType : `${mediaType};charset=UTF-8`;
  const init = status === 200 && mediaType === "text/plain" ? undefined : { status, headers: { "content-type": type } };
  return (result) => {
    if (typeof result !== "string") throw misfit(result, "a string", route);
    return text(result, init);
  };
}

function iterableOf(result: unknown, wanted: string, route: string): AsyncIterable<unknown> {
  const isIterable = typeof result === "object" && result !== null && Symbol.asyncIterator in result;
  if (!isIterable) throw misfit(result, wanted, route);
  return result as AsyncIterable<unknown>;
}

function misfit(result: unknown, wanted: string, route: string): TypeError {
  const got = typeof result === "object" ? result?.constructor?.name ?? "null" : typeof result;
  return new TypeError(
    `Cannot reply to ${route}: its response declares that the handler returns ${wanted}, got ${got}`,
  );
}
