import type { Records } from "../store/records.ts";
import type { Consumers } from "../topics/consumers.ts";
import type { DeclaredTopic } from "../topics/declared_topic.ts";
import type { Topic } from "../topics/topic.ts";
import type { TopicOptions } from "../topics/topic_options.ts";
import type { TopicsReport } from "../topics/topic_report.ts";
import type { Webhook } from "../topics/webhook.ts";
import type { Log } from "../log/log.ts";
import type { RouteInfo } from "./route_info.ts";

/**
 * The application, as requests, lifespans, consumers and crons see it.
 *
 * @category Applications
 */
export interface AppHandle {
  /** The title of the application. */
  readonly title: string;
  /** The version of the application. */
  readonly version: string;
  /** The description of the application, if it has one. */
  readonly description: string | undefined;
  /** The path below which it is served, by its option `basePath`; empty without one. */
  readonly basePath: string;
  /** The path of the OpenAPI document; null if it is not served. */
  readonly openapiUrl: string | null;
  /** The path of the documentation page; null if it is not served. */
  readonly docsUrl: string | null;
  /** The path of the endpoint for agents; null if it is not served. */
  readonly mcpUrl: string | null;
  /** Values by key that all nodes of the application share, in the store of its topics. */
  readonly records: Records;
  /** Pauses consumers, retries what they have given up, and reports on them. */
  readonly consumers: Consumers;
  /** The log, for entries of no request. They go to stderr, or to the option `log`. */
  readonly log: Log;
  /** All routes, including those of routers, in the order of their registration. */
  readonly routes: readonly RouteInfo[];
  /**
   * The topic of a value that `topic()` made and the application has declared, always the same
   * object.
   */
  topic<Data, Input>(declared: DeclaredTopic<Data, Input>): Topic<Data, Input>;
  /** The topic of a name, always the same object. Give options only where it is declared. */
  topic<Data = unknown, Input = Data>(name: string, options?: TopicOptions<Data, Input>): Topic<Data, Input>;
  /**
   * The declared webhook of this name.
   *
   * @throws {TypeError} If there is none.
   */
  webhook<Input = unknown>(name: string): Webhook<Input>;
  /**
   * Reports on all durable topics, declared or in the store, and their consumers, also those of
   * other applications that share the store, on topics in memory that have consumers, and on the
   * crons. It reads all messages: not for each request.
   *
   * @param options In `after`, the id of the last message that a reader has seen. The report of its
   * topic then says how far behind the reader is.
   * @throws {SyntaxError} If the id is malformed.
   * @throws {TypeError} If a custom store cannot list its logs, or an option is unknown.
   */
  reportTopics(options?: { after?: string }): Promise<TopicsReport>;
}
