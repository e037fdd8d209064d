/**
 * webfw is a web framework for Deno. One declaration of a route gives validation, typed arguments,
 * an OpenAPI document and a tool for agents.
 *
 * @example A typed, validated route
 * ```ts
 * import { App } from "@webfw/core";
 * import { assertEquals } from "@std/assert";
 * import * as v from "valibot";
 *
 * export const app = new App({ title: "Sums" });
 *
 * app.get("/sum", { query: { a: v.number(), b: v.number() } }, async (_request, { a, b }) => ({ sum: a + b }));
 *
 * const response = await app.fetch(new Request("http://localhost/sum?a=1&b=2"));
 * assertEquals(await response.json(), { sum: 3 });
 * ```
 *
 * To serve it, `export default app` and start the file with `deno serve`, or call `app.run()` in
 * another file:
 *
 * ```ts ignore
 * import { app } from "./main.ts";
 *
 * await app.run({ port: 8000 });
 * ```
 *
 * This entry point exports what programs use. The others are `@webfw/core/auth` for tokens,
 * passwords and keys, `@webfw/core/middleware` for security headers, time limits and other
 * middleware, `@webfw/core/testing` for tests, `@webfw/core/store` for authors of a store of
 * durable topics, `@webfw/core/openapi` for the types of the OpenAPI document, and
 * `@webfw/core/types` for parts of other types, such as the types of single options.
 *
 * @module
 */

import { provideBoard } from "./src/app/board_host.ts";
import { load } from "./src/base/async_context.ts";

provideBoard(() => load(() => import("./src/board/board.ts")));

// Applications and routers
export { App } from "./src/app/app.ts";
export type { AppOptions } from "./src/app/app_options.ts";
export { type IncludeOptions, Router, type RouterOptions } from "./src/app/router.ts";
export type { Middleware, Next } from "./src/routing/middleware.ts";
export type { RunOptions } from "./src/server/run_options.ts";
export type { Limits } from "./src/http/limits.ts";
export type { RateLimit } from "./src/rate_limit/rate_limit.ts";
export type { Duration } from "./src/base/options.ts";
export type { LogEntry } from "./src/log/log.ts";
export { settings } from "./src/schema/settings.ts";

// Declarations of routes
export { Form } from "./src/schema/form.ts";
export { Stream, UploadFile } from "./src/binding/bodies.ts";
export type { Schema } from "./src/schema/schema.ts";
export { type Dependency, dependency, stateType } from "./src/binding/dependency.ts";
export { anySecurity } from "./src/binding/guard.ts";
export type { RouteInfo } from "./src/http/route_info.ts";

// Requests, replies, streams
export type { AppHandle } from "./src/http/app_handle.ts";
export { HttpRequest } from "./src/http/request.ts";
export { etagOf } from "./src/http/entity_tag.ts";
export type { Cookie } from "./src/http/cookies.ts";
export { file } from "./src/http/reply.ts";
export { html, redirect, text } from "./src/http/reply.ts";
export { hidden } from "./src/schema/hidden.ts";
export { Events } from "./src/http/replies/events.ts";
export { Bytes, Html, JsonLines, Text } from "./src/http/replies/declared_reply.ts";
export { Replies, reply } from "./src/http/replies/replies.ts";
export { SSE } from "./src/http/sse/sse.ts";
export { WebSocketClosedError } from "./src/http/websocket/messages.ts";
export type { WebSocketConnection } from "./src/http/websocket/connection.ts";

// Errors
export { HTTPError, type Issue, type ProblemDetails, RouteError, ValidationError } from "./src/base/errors.ts";
export type { ErrorHandler } from "./src/routing/middleware.ts";
export { Problem } from "./src/describe/openapi/replies.ts";

// Records and topics
export { topic } from "./src/topics/declared_topic.ts";
export type { Records } from "./src/store/records.ts";
export { InvalidMessageError } from "./src/topics/invalid_message_error.ts";
export type { Topic } from "./src/topics/topic.ts";
export { type ConsumerContext, type DeadLetter, Discard } from "./src/topics/consume_options.ts";
export type { TopicEntry, TopicGap, TopicMessage } from "./src/topics/message.ts";
export { PublishOutcomeUnknownError } from "./src/topics/publisher.ts";
export type { Subscription } from "./src/topics/subscription.ts";
