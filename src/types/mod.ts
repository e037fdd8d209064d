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
  FlatValues,
  ForeignCure,
  ForeignSegment,
  FreePath,
  FreePrefix,
  GivenInput,
  IsKnown,
  KeysOf,
  KindOf,
  Letter,
  MethodsOption,
  NameStart,
  NoParameters,
  PathArguments,
  PathNames,
  PathText,
  PathValues,
  PrefixText,
  QueryValues,
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
export type { LinkOptions, LinkTarget } from "../http/link.ts";
export type { FilesOptions, RegisterFiles } from "../routing/files.ts";
export type { InferredDependencies, RateLimitOption, ScopeDependencies } from "../routing/scope.ts";
export type {
  GroupOptions,
  RouteDeclaration,
  RouteSettings,
  ScopeOptions,
  ToolAnnotations,
  ToolOptions,
  WebSocketDeclaration,
  WebSocketSettings,
} from "../http/route_info.ts";
export type { IdempotencyOptions } from "../idempotency/options.ts";

// Applications, settings and logs
export type { Lifespan } from "../app/lifecycle.ts";
export type { ListenAddress } from "../server/run_options.ts";
export type { Log, WriteEntry } from "../log/log.ts";
export type { LogValue } from "../log/log_text.ts";
export type { SettingsOptions, SettingsSchema } from "../schema/settings.ts";

// Guards and sessions
export type { Alternative, AnySecurity } from "../binding/guard.ts";
export type { PasswordFlow } from "../auth/credentials.ts";
export type { JwtKey, JwtKeyFunction, JwtKeys, JwtOAuth2 } from "../auth/jwt/options.ts";
export type { JwtAlgorithm, JwtCryptoKey, JwtHeader } from "../auth/jwt/token.ts";
export type { RequiredSessionOptions } from "../auth/session.ts";
export type { Secrets } from "../auth/sessions/definition.ts";
export type { RecordSessions, SessionWrite } from "../auth/sessions/stores.ts";

// Errors
export type { HTTPErrorOptions, InputSource, IssueCode, RouteErrorCode } from "../base/errors.ts";
export type { ErrorShape } from "../describe/openapi/replies.ts";

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
export type { StreamInput, StreamSchema, UploadFileSchema } from "../binding/bodies.ts";
export type { ProblemSchema } from "../describe/openapi/replies.ts";
export type {
  CheckedSource,
  DataEncoding,
  EventStream,
  FilledKeys,
  ItemData,
  Misread,
  SentData,
  ServerSentEvent,
  SourceMessage,
  SSEOptions,
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
export type {
  DocumentedCallback,
  DocumentedReplies,
  DocumentedReply,
  NamedExample,
  NamedExamples,
  ReplyDescription,
  RequestExamples,
} from "../http/documented.ts";
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
  DependencyOptions,
  DependencyValue,
  FlatInputs,
  InputsOf,
  InputsUnder,
  NeededState,
  None,
  PathValue,
  RequiredState,
  Resolve,
  StateType,
  ValuesOf,
} from "../binding/dependency.ts";
export type {
  ApiKeySecurityScheme,
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
} from "../binding/security.ts";
export type { CorsOptions } from "../http/cors.ts";
export type { Origins } from "../http/origin.ts";
export type { ProxyOptions, TrustProxy } from "../http/proxy.ts";
export type { CookieAttributes } from "../http/cookies.ts";
export type { ConnectionInfo } from "../http/connection.ts";
export type { FileOptions } from "../http/files/served_file.ts";
export type { BoardOptions } from "../app/board_host.ts";
export type { DocsOptions, SwaggerUIParameter } from "../describe/page/options.ts";
export type { McpOptions, ToolListing } from "../describe/mcp/options.ts";

// Middleware
export type { HstsOptions, ReferrerPolicyName } from "../middleware/secure_headers.ts";

// Topics and consumers
export type { DataIssue } from "../topics/invalid_message_error.ts";
export type { PublishOptions, ScheduleOptions, TransactionPublishOptions } from "../topics/topic.ts";
export type { SqlTransaction } from "../store/topic_store.ts";
export type { DeclaredTopic } from "../topics/declared_topic.ts";
export type { Retention, TopicOptions } from "../topics/topic_options.ts";
export type { GapReason } from "../topics/message.ts";
export type { PublishResult, ScheduledMessage } from "../topics/publisher.ts";
export type { SubscribeOptions } from "../topics/subscription.ts";
export type {
  BatchHandler,
  BatchOptions,
  ConsumeOptions,
  ConsumerHandler,
  FailedMessage,
  HandlerOf,
  RetryOptions,
} from "../topics/consume_options.ts";
export type { Consumers, Redelivery } from "../topics/consumers.ts";
export type { ConsumerReport } from "../topics/topic_report.ts";

// Webhooks
export type { SendWebhookOptions, Webhook, WebhookDelivery, WebhookOptions } from "../topics/webhook.ts";
export type { WebhooksOptions } from "../webhooks/webhooks.ts";

// Records
export type { RecordChange } from "../store/record_watch.ts";
export type { WatchRecordOptions } from "../store/records.ts";

// Workers, started by the command line
export type { TopicsDatabase, TopicsLocation, TopicsPostgres, TopicsServers, TopicsSqlite } from "../store/location.ts";
export type { WorkerPorts } from "../store/memory/worker_store.ts";

// Reports
export type { CronReport, TopicLag, TopicReport, TopicsReport } from "../topics/topic_report.ts";

// Cron
export type { CronHandler, CronOptions, CronRun, DeclareCron } from "../work/cron/options.ts";
