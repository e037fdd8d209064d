/** What a request can see of the application that serves it. Cuts the knot between the application and its requests. */

import type { Topic } from "../topics/topic.ts";
import type { TopicOptions } from "../topics/topic_options.ts";
import type { RouteInfo } from "./route_info.ts";

/** The application as its requests see it. */
export interface AppHandle {
  /** The title of the application. */
  readonly title: string;
  /** The version of the application. */
  readonly version: string;
  /** What the application is for, where it says so. */
  readonly description: string | undefined;
  /** The path of the OpenAPI document; null where it is not served. */
  readonly openapiUrl: string | null;
  /** The path of the documentation page; null where it is not served. */
  readonly docsUrl: string | null;
  /** The path of the endpoint for agents; null where it is not served. */
  readonly mcpUrl: string | null;
  /** All routes, in the order of their registration. */
  readonly routes: readonly RouteInfo[];
  /** The topic of a name: the same one every time. Options have to be given where it is declared, and nowhere else. */
  topic<Data = unknown, Input = Data>(name: string, options?: TopicOptions<Data, Input>): Topic<Data, Input>;
}
