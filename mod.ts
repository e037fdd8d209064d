/**
 * webfw: HTTP services on Deno from one declaration of each route.
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
 * @module
 */

// Applications and routers
export { App } from "./src/app.ts";
export type { AppOptions } from "./src/app_options.ts";
export { type Includable, type IncludeOptions, Router, type RouterOptions } from "./src/router.ts";
export type { MethodsOption } from "./src/routing/verbs.ts";
export type { Lifespan } from "./src/lifespan.ts";
export type { ListenAddress, RunOptions } from "./src/serve.ts";
export type { WorkerPorts } from "./src/topics/worker_store.ts";

// Declarations
export type {
  ArgumentOrder,
  Atom,
  Exact,
  ExtraKeys,
  ForeignSegment,
  IsKnown,
  KeysOf,
  Letter,
  NameStart,
  PathNames,
  PathText,
  RegisterDeclared,
  RegisterRoute,
  Returned,
  RouteOptions,
  SuspiciousPath,
} from "./src/routing/route_options.ts";
export type { RegisterWebSocket, WebSocketOptions } from "./src/routing/websocket_options.ts";
export {
  type AnyDependency,
  type Dependency,
  dependency,
  type DependencyLike,
  type DependencyOptions,
  type DependencyValue,
  type NeededState,
  type None,
  type RequiredState,
  type Resolve,
  type StateType,
  stateType,
} from "./src/binding/dependency.ts";
export { anySecurity } from "./src/binding/security.ts";
export type {
  ApiKeySecurityScheme,
  AuthorizationUrl,
  HttpSecurityScheme,
  MutualTlsSecurityScheme,
  OAuth2Flow,
  OAuth2Flows,
  OAuth2SecurityScheme,
  OpenIdConnectSecurityScheme,
  RequiredScheme,
  RequiredScopes,
  SecurityRequirement,
  SecurityScheme,
  TokenUrl,
} from "./src/binding/security.ts";
export type { GivenSchema, Mistake, NamesOfOthers, NotSchemas, OutputOf, Schemas } from "./src/schema/schema.ts";
export type { Schema } from "./src/schema/schema.ts";
export { Form, type FormSchema } from "./src/schema/form_form.ts";
export { Stream, type StreamSchema } from "./src/binding/stream_body.ts";
export { UploadFile, type UploadFileSchema } from "./src/binding/upload_file.ts";
export type { UploadedFile } from "./src/http/forms/uploaded_file.ts";
export type { Limits } from "./src/http/limits.ts";
export type { Duration } from "./src/duration.ts";

// Requests and replies
export type { ConnectionInfo } from "./src/http/request.ts";
export { HttpRequest } from "./src/http/request.ts";
export type { AppHandle } from "./src/http/request.ts";
export type {
  RouteDeclaration,
  RouteDescription,
  RouteInfo,
  ToolAnnotations,
  ToolOptions,
  WebSocketDeclaration,
  WebSocketDescription,
  WebSocketOrigins,
} from "./src/http/route_info.ts";
export { file, type FileOptions } from "./src/http/files/file.ts";
export { html, redirect, text } from "./src/http/reply.ts";
export {
  type DataEncoding,
  type EventStream,
  type Misread,
  type ServerSentEvent,
  SSE,
  type SSEOptions,
} from "./src/http/sse/sse.ts";
export { WebSocketClosedError } from "./src/http/websocket/messages.ts";
export type { WebSocketConnection } from "./src/http/websocket/connection.ts";
export type { Middleware, Next } from "./src/routing/middleware.ts";

// Topics
export type { TopicsDatabase, TopicsLocation } from "./src/topics/location.ts";
export { type DataIssue, InvalidMessageError } from "./src/topics/topic_errors.ts";
export type { GapReason, TopicEntry, TopicGap, TopicMessage } from "./src/topics/message.ts";
export { PublishOutcomeUnknown } from "./src/topics/topic_errors.ts";
export type { PublishResult } from "./src/topics/publisher.ts";
export type {
  AppendOptions,
  AppendOutcome,
  AppendResult,
  Cursor,
  LogBounds,
  LogPage,
  LogPolicy,
  LogPosition,
  LogRef,
  NewMessage,
  ReadLimits,
  StoreCapabilities,
  StoredMessage,
  TopicStore,
} from "./src/topics/store.ts";
export type { SubscribeOptions, Subscription } from "./src/topics/subscription.ts";
export type { PublishOptions, Topic } from "./src/topics/topic.ts";
export type { Retention, TopicOptions } from "./src/topics/topic_options.ts";
export type { TopicLag, TopicReport } from "./src/topics/topic_report.ts";

// Errors
export {
  HTTPError,
  type HTTPErrorOptions,
  type InputSource,
  type Issue,
  type IssueCode,
  type ProblemDetails,
  RouteError,
  type RouteErrorCode,
  ValidationError,
} from "./src/errors.ts";
export type { ErrorHandler } from "./src/routing/middleware.ts";
export type { ErrorShape } from "./src/describe/openapi/replies.ts";
export { Problem, type ProblemSchema } from "./src/describe/openapi/replies.ts";

// Description
export type { JsonSchema, JsonType } from "./src/describe/json_schema/json_schema.ts";
export type { McpTrust } from "./src/describe/mcp/endpoint.ts";
export type {
  OpenAPIComponents,
  OpenAPIDocument,
  OpenAPIEncoding,
  OpenAPIInfo,
  OpenAPIMediaType,
  OpenAPIMethod,
  OpenAPIOperation,
  OpenAPIParameter,
  OpenAPIPathItem,
  OpenAPIReference,
  OpenAPIRequestBody,
  OpenAPIResponse,
  OpenAPITag,
} from "./src/describe/openapi/document.ts";
