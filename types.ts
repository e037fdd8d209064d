/**
 * Types that the compiler infers from declarations, and parts of other types. Programs rarely name
 * them: `@webfw/core` exports the types that programs use.
 *
 * @example A function that registers a route on any application or router
 * ```ts
 * import { App } from "@webfw/core";
 * import type { RegisterRoute } from "@webfw/core/types";
 * import { assertEquals } from "@std/assert";
 *
 * function addHealth({ get }: { get: RegisterRoute<unknown, ""> }): void {
 *   get("/health", async () => "ok");
 * }
 *
 * const app = new App();
 * addHealth(app);
 * const response = await app.fetch(new Request("http://localhost/health"));
 * assertEquals(response.status, 200);
 * await response.body?.cancel();
 * ```
 *
 * @module
 */

// Routes
export type { Includable } from "./src/router.ts";
export type {
  ArgumentOrder,
  Exact,
  ExtraKeys,
  ForeignCure,
  ForeignSegment,
  FreePath,
  FreePrefix,
  IsKnown,
  KeysOf,
  Letter,
  NameStart,
  PathNames,
  PathText,
  PrefixText,
  RegisterDeclared,
  RegisterRoute,
  RouteOptions,
  SuspiciousPath,
} from "./src/routing/route_options.ts";
export type { MountableApp, MountedHandler, MountInfo, MountOptions, RegisterMount } from "./src/routing/mount.ts";
export type { FilesOptions, RegisterFiles } from "./src/routing/files.ts";
export type { RegisterWebSocket, WebSocketOptions } from "./src/routing/websocket_options.ts";
export type { KindOf, RouteInputs, RouteRef, WebSocketRef } from "./src/routing/route_ref.ts";
export type { GroupOptions, InferredDependencies, ScopeDependencies, ScopeOptions } from "./src/routing/scope.ts";
export type {
  IdempotentOption,
  RateLimitOption,
  RouteDeclaration,
  RouteDescription,
  WebSocketDeclaration,
  WebSocketDescription,
} from "./src/http/route_info.ts";

// Settings and logs
export type { LogEntry } from "./src/log.ts";
export type { LogValue } from "./src/log_text.ts";
export type { Log, WriteEntry } from "./src/user_log.ts";
export type { SettingsOptions, SettingsSchema } from "./src/settings.ts";

// Guards
export type { Alternative, AnySecurity } from "./src/binding/any_security.ts";

// Schemas
export type {
  GivenSchema,
  InputOf,
  Mistake,
  NamesOfOthers,
  NotSchemas,
  OutputOf,
  Schemas,
} from "./src/schema/schema.ts";
export type { FormSchema } from "./src/schema/form.ts";
export type { StreamInput, StreamSchema } from "./src/binding/stream_body.ts";
export type { UploadFileSchema } from "./src/binding/form_body.ts";
export type { ProblemSchema } from "./src/describe/openapi/replies.ts";
export type {
  CheckedSource,
  DataEncoding,
  FilledKeys,
  ItemData,
  Misread,
  SentData,
  SourceMessage,
} from "./src/http/sse/sse.ts";

// Declared replies
export type { EventsReply } from "./src/http/replies/events.ts";
export type { JsonLinesReply } from "./src/http/replies/json_lines.ts";
export type {
  AnyResult,
  CheckedModels,
  ReceivedFor,
  RepliesReply,
  StatusReply,
  TakenBy,
} from "./src/http/replies/replies.ts";
export type { BytesReply, ReceivedBytes } from "./src/http/replies/bytes.ts";
export type { TextReply } from "./src/http/replies/text.ts";
export type { ReceivedAs } from "./src/http/replies/declared_reply.ts";
export type { DocumentedReply, ReplyDescription } from "./src/http/replies/documented_reply.ts";
export type { Atom, Returned, Yielded } from "./src/http/replies/returned.ts";
export type { JsonForm } from "./src/schema/json_form.ts";

// Limits on how often clients may send requests
export type {
  RateLimit,
  RateLimitByRequest,
  RateLimitByValue,
  RateLimitKey,
  RateLimitNumbers,
  RateLimits,
} from "./src/rate_limit/rate_limit.ts";
export type { SharedCount, SharedLimiter } from "./src/rate_limit/shared_counts.ts";

// Dependencies and their security
export type {
  AnyDependency,
  DeclaredInputs,
  DependencyLike,
  FlatInputs,
  InputsOf,
  InputsUnder,
  NeededState,
  None,
  PathValue,
  RequiredState,
  Resolve,
  ValuesOf,
} from "./src/binding/dependency.ts";
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
  TokenUrl,
} from "./src/binding/security.ts";
export type { CorsOptions } from "./src/http/cors.ts";
export type { Origins } from "./src/http/origin.ts";
export type { ProxyOptions, TrustProxy } from "./src/http/proxy.ts";
export type { CookieAttributes } from "./src/http/cookies.ts";
export type { DocsOptions } from "./src/describe/page/options.ts";
export type { McpOptions, ToolListing } from "./src/describe/mcp/options.ts";

// Consumers
export type {
  ConsumeOptions,
  ConsumerContext,
  ConsumerHandler,
  DeadLetter,
  RetryOptions,
} from "./src/topics/consume_options.ts";
export type { ConsumerReport } from "./src/topics/topic_report.ts";

// Records
export type { DeleteRecordOptions, WatchRecordOptions } from "./src/records/records.ts";

// Workers, started by the command line
export type { TopicsDatabase, TopicsServers } from "./src/topics/location.ts";
export type { WorkerPorts } from "./src/topics/worker_store.ts";

// Reports
export type { TopicLag, TopicReport } from "./src/topics/topic_report.ts";

// Cron
export type { CronHandler, DeclareCron } from "./src/cron/options.ts";
export type { CronReport, TopicsReport } from "./src/cron/report.ts";
