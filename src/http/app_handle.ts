/** What a request can see of the application that serves it. Cuts the knot between the application and its requests. */

import type { RouteInfo } from "./route_info.ts";

/** The application as its requests see it. */
export interface AppHandle {
  /** The title of the application. */
  readonly title: string;
  /** The version of the application. */
  readonly version: string;
  /** What the application is for, where it says so. */
  readonly description: string | undefined;
  /** All routes, in the order of their registration. */
  readonly routes: readonly RouteInfo[];
}
