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
export type { Includable } from "../app/router.ts";
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
  KindOf,
  Letter,
  NameStart,
  PathNames,
  PathText,
  PrefixText,
  RegisterDeclared,
  RegisterRoute,
  RegisterWebSocket,
  RouteInputs,
  RouteOptions,
  RouteRef,
  SuspiciousPath,
  WebSocketOptions,
  WebSocketRef,
} from "../routing/route_options.ts";
export type { MountableApp, MountedHandler, MountInfo, MountOptions, RegisterMount } from "../routing/mount.ts";
export type { FilesOptions, RegisterFiles } from "../routing/files.ts";
export type { GroupOptions, InferredDependencies, ScopeDependencies, ScopeOptions } from "../routing/scope.ts";
export type {
  IdempotentOption,
  RateLimitOption,
  RouteDeclaration,
  RouteDescription,
  WebSocketDeclaration,
  WebSocketDescription,
} from "../http/route_info.ts";

// Settings and logs
export type { Log, LogEntry, WriteEntry } from "../log/log.ts";
export type { LogValue } from "../log/log_text.ts";
export type { SettingsOptions, SettingsSchema } from "../schema/settings.ts";

// Guards
export type { Alternative, AnySecurity } from "../binding/guard.ts";

// Schemas
export type {
  GivenSchema,
  InputOf,
  JsonForm,
  Mistake,
  NamesOfOthers,
  NotSchemas,
  OutputOf,
  Schemas,
} from "../schema/schema.ts";
export type { FormSchema } from "../schema/form.ts";
export type { StreamInput, StreamSchema } from "../binding/stream_body.ts";
export type { UploadFileSchema } from "../binding/form_body.ts";
export type { ProblemSchema } from "../describe/openapi/replies.ts";
export type {
  CheckedSource,
  DataEncoding,
  FilledKeys,
  ItemData,
  Misread,
  SentData,
  SourceMessage,
} from "../http/sse/sse.ts";

// Declared replies
export type { EventsReply } from "../http/replies/events.ts";
export type { JsonLinesReply } from "../http/replies/declared_reply.ts";
export type {
  AnyResult,
  CheckedModels,
  ReceivedFor,
  RepliesReply,
  StatusReply,
  TakenBy,
} from "../http/replies/replies.ts";
export type { DocumentedReply, ReplyDescription } from "../http/route_info.ts";
export type {
  Atom,
  BytesReply,
  ReceivedAs,
  ReceivedBytes,
  Returned,
  TextReply,
  Yielded,
} from "../http/replies/declared_reply.ts";

// Limits on how often clients may send requests
export type {
  RateLimit,
  RateLimitByRequest,
  RateLimitByValue,
  RateLimitKey,
  RateLimitNumbers,
  RateLimits,
  SharedCount,
  SharedLimiter,
} from "../rate_limit/rate_limit.ts";

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
} from "../binding/dependency.ts";
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
} from "../binding/security.ts";
export type { CorsOptions } from "../http/cors.ts";
export type { Origins } from "../http/origin.ts";
export type { ProxyOptions, TrustProxy } from "../http/proxy.ts";
export type { CookieAttributes } from "../http/cookies.ts";
export type { DocsOptions } from "../describe/page/options.ts";
export type { McpOptions, ToolListing } from "../describe/mcp/options.ts";

// Consumers
export type {
  ConsumeOptions,
  ConsumerContext,
  ConsumerHandler,
  DeadLetter,
  RetryOptions,
} from "../topics/consume_options.ts";
export type { ConsumerReport } from "../topics/topic_report.ts";

// Records
export type { DeleteRecordOptions } from "../store/record_store.ts";
export type { WatchRecordOptions } from "../store/records.ts";

// Workers, started by the command line
export type { TopicsDatabase, TopicsServers } from "../store/location.ts";
export type { WorkerPorts } from "../store/memory/worker_store.ts";

// Reports
export type { TopicLag, TopicReport } from "../topics/topic_report.ts";

// Cron
export type { CronHandler, DeclareCron } from "../work/cron/options.ts";
export type { CronReport, TopicsReport } from "../work/cron/record.ts";
