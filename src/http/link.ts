/** Links to routes, as requests make them. The references of routes write the paths. */
import { readOptions } from "../base/options.ts";

/** The values of parameters, by name. */
export type LinkValues = Readonly<Record<string, unknown>>;

/** How a request makes a link of the reference of a route. */
export const LINK: unique symbol = Symbol("webfw.link");

/** @ignore What a verb returned, with the values that its `path()` takes. */
export interface LinkTarget<Values extends readonly unknown[]> {
  /** Writes the path. */
  path(...values: Values): string;
}

/** Options of a link. */
export interface LinkOptions {
  /**
   * Whether it begins with the scheme and the host of the request: `https://`, or `wss://` for a
   * WebSocket.
   *
   * @default {false}
   */
  absolute?: boolean;
}

/** @throws {TypeError} If the target is no reference, or an option is unknown. */
export function makeLink<Request>(
  request: Request,
  target: unknown,
  [values, options = {}]: readonly unknown[],
): string {
  const action = "make a link";
  const link = (target as { readonly [LINK]?: (request: Request, values: LinkValues, absolute: boolean) => string })
    ?.[LINK];
  if (link === undefined) {
    throw new TypeError(`Cannot ${action}: the first argument must be what a verb such as app.get() returned`);
  }
  const { absolute = false } = readOptions(options as LinkOptions, { absolute: true }, action);
  return link.call(target, request, (values ?? {}) as LinkValues, absolute);
}
