/** Takes a request from the server to its reply: finds the route, runs its prepared plan, guards the boundaries. */
import type { AppHandle } from "../http/app_handle.ts";
import { completeAfter } from "../http/completion.ts";
import type { ResolvedLimits } from "../http/limits.ts";
import { toReply, withoutBody } from "../http/reply.ts";
import {
  completionOf,
  type ConnectionInfo,
  connectionOf,
  HttpRequest,
  type MatchedRoute,
  pathStart,
} from "../http/request.ts";
import { runSchema } from "../schema/schema.ts";
import { compose, type Endpoint, type Middleware, type Recover } from "./middleware.ts";
import type { Route } from "./route.ts";
import { type Match, RouteTree } from "./table.ts";

/** What a dispatcher serves. */
export interface DispatcherParts {
  readonly app: AppHandle;
  readonly routes: readonly Route[];
  /** Those of the application, which surround every reply. */
  readonly middlewares: readonly Middleware[];
  readonly limits: ResolvedLimits;
  readonly recover: Recover;
  /** Is aborted when the server stops. */
  readonly stopping: AbortSignal;
}

interface Served {
  readonly matched: MatchedRoute;
  readonly endpoint: Endpoint;
}

/** The prepared application. */
export class Dispatcher {
  readonly #parts: DispatcherParts;
  readonly #tree: RouteTree<Served> = new RouteTree();
  readonly #unmatched: MatchedRoute;

  /** Prepares every route: middlewares are composed here, once. */
  constructor(parts: DispatcherParts) {
    this.#parts = parts;
    this.#unmatched = { info: null, names: [], limits: parts.limits };
    for (const route of parts.routes) {
      this.#tree.add(route.method, route.template.segments, {
        matched: {
          info: route,
          names: route.template.names,
          limits: route.limitsOver(parts.limits),
        },
        endpoint: endpointOf(route, parts),
      });
    }
  }

  /** Answers a request. It never rejects. */
  dispatch(
    raw: Request,
    state: Readonly<Record<string, unknown>>,
    info: ConnectionInfo | undefined,
  ): Promise<Response> {
    const { url, method } = raw;
    const start = pathStart(url);
    const end = pathEnd(url, start);
    let match: Match<Served>;
    try {
      match = this.#tree.find(method, url.slice(start, end));
    } catch (refusal) {
      return this.#refuse(
        refusal,
        new HttpRequest(
          raw,
          this.#parts.app,
          state,
          this.#unmatched,
          [],
          end,
          info,
        ),
      );
    }
    const { matched, endpoint } = match.entry;
    const request = new HttpRequest(
      raw,
      this.#parts.app,
      state,
      matched,
      match.values,
      end,
      info,
    );
    const reply = endpoint(request);
    return method === "HEAD" ? reply.then((response) => withoutBody(response)) : reply;
  }

  /** The application's middlewares see what no route serves, too. */
  async #refuse(refusal: unknown, request: HttpRequest): Promise<Response> {
    const { middlewares, recover } = this.#parts;
    const endpoint = compose(
      middlewares,
      async (request) => await recover(refusal, request),
      recover,
    );
    const response = finish(request, await endpoint(request));
    return request.method === "HEAD" ? withoutBody(response) : response;
  }
}

function pathEnd(url: string, start: number): number {
  const query = url.indexOf("?", start);
  const hash = url.indexOf("#", start);
  if (hash >= 0 && (query < 0 || hash < query)) return hash;
  return query < 0 ? url.length : query;
}

function endpointOf(
  route: Route,
  { recover, stopping }: DispatcherParts,
): Endpoint {
  const run = planOf(route, stopping);
  const middlewares = route.scopes.flatMap((scope) => scope.middlewares);
  const guarded: Endpoint = async (request) => {
    try {
      return finish(request, await run(request));
    } catch (thrown) {
      return finish(request, await recover(thrown, request));
    }
  };
  if (middlewares.length === 0) return guarded;
  const composed = compose(middlewares, async (request) => {
    try {
      return await run(request);
    } catch (thrown) {
      return await recover(thrown, request);
    }
  }, recover);
  return async (request) => finish(request, await composed(request));
}

/** Binds the arguments, runs the handler, reduces its result to the model, makes the reply. */
function planOf(
  { bind, handler, options, format, name }: Route,
  stopping: AbortSignal,
): Endpoint {
  const { response: model } = options;
  return async (request) => {
    const bound = bind(request);
    const args = bound instanceof Promise ? await bound : bound;
    let result = await handler(request, args as never);
    if (result instanceof Response) return result;
    if (model) {
      const reduced = runSchema(model, result);
      const dataset = reduced instanceof Promise ? await reduced : reduced;
      if (dataset.issues) throw misfit(name, dataset.issues);
      result = dataset.value;
    }
    const reply = await toReply(result, format, stopping);
    const completion = completionOf(request);
    if (completion && !isStreamed(result)) completion.whole = reply;
    return reply;
  };
}

function isStreamed(result: unknown): boolean {
  return typeof result === "object" && result !== null &&
    (result instanceof ReadableStream || result instanceof Blob ||
      Symbol.asyncIterator in result);
}

/** A result that does not fit is the application's fault. Values stay out of the message, which is logged. */
function misfit(
  route: string,
  issues: readonly {
    path?: readonly { key?: unknown }[] | undefined;
    expected: string | null;
  }[],
): Error {
  const faults = issues.map(({ path = [], expected }) => {
    const place = path.map(({ key }) => String(key)).join(".");
    return `${place === "" ? "the result" : `"${place}"`} should be ${expected ?? "valid"}`;
  });
  return new TypeError(
    `Cannot reply to ${route}: the result does not fit the response model, ${faults.join(", ")}`,
  );
}

/** Sees to what is left to do after the reply. */
function finish(request: HttpRequest, response: Response): Response {
  const completion = completionOf(request);
  return completion ? completeAfter(response, completion, connectionOf(request)?.completed) : response;
}
