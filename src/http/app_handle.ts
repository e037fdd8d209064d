import type { Records } from "../store/records.ts";
import type { Topic } from "../topics/topic.ts";
import type { TopicOptions } from "../topics/topic_options.ts";
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
  /** The log, for entries of no request. They go to stderr, or to the option `log`. */
  readonly log: Log;
  /** All routes, including those of routers, in the order of their registration. */
  readonly routes: readonly RouteInfo[];
  /** The topic of a name, always the same object. Give options only where it is declared. */
  topic<Data = unknown, Input = Data>(name: string, options?: TopicOptions<Data, Input>): Topic<Data, Input>;
}
