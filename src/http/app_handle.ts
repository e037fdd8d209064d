/** What a request can see of the application that serves it. Cuts the knot between the application and its requests. */

/** A route as others may read it: the record that the router, the document and your own tools share. */
export interface RouteInfo {
  /** The method, in upper case. */
  readonly method: string;
  /** The full path, prefixes included. */
  readonly path: string;
  /** The name of the operation, unique in the application. */
  readonly operationId: string;
  /** The options it was registered with. */
  readonly options: Readonly<Record<string, unknown>>;
}

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
