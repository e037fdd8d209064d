/** The answer of a route that runs once for each `Idempotency-Key`. */
import { load } from "../base/async_context.ts";
import { subjectText } from "../binding/caller.ts";
import type { Values } from "../binding/resolver.ts";
import { RouteError } from "../base/errors.ts";
import { contextOf, type HttpRequest } from "../http/request.ts";
import { ChosenReply } from "../http/replies/replies.ts";
import { EventStream } from "../http/sse/sse.ts";
import type { Idempotency } from "../idempotency/options.ts";
import type { ErrorBoundary } from "./middleware.ts";
import { callerThroughMounts } from "./mount_caller.ts";
import type { Route } from "./route.ts";

type Args = Readonly<Record<string, unknown>>;

/** How the replies of a route are made. */
interface Replies {
  readonly toReply: (result: unknown, request: HttpRequest) => Promise<Response>;
  readonly toErrorReply: ErrorBoundary;
}

/**
 * Answers a request, given the arguments of the handler, those that are input of the client, and
 * the values of the dependencies.
 */
type Answer = (request: HttpRequest, args: Args, input: Args, values: Values) => Promise<Response>;

/** Makes the function that runs the handler of a route, or repeats its reply. */
export function idempotentAnswer(
  { handler, compiled: { binder }, options, name }: Route,
  idempotency: Idempotency,
  { toReply, toErrorReply }: Replies,
): Answer {
  const { by } = idempotency;
  const isBodyDeclared = options.body !== undefined || options.form !== undefined;
  return async (request, args, input, values) => {
    const { runOnce } = await load(() => import("../idempotency/runner.ts"));
    const context = contextOf(request);
    return await runOnce(idempotency, {
      request,
      input,
      isBodyDeclared,
      caller: () =>
        by
          ? subjectText(by(request, args), `"idempotent.by" of ${name}`)
          : callerThroughMounts(request, values, binder),
      answer: async () => {
        const result = await handler(request, args as never);
        if (result instanceof Error) throw result;
        if (context.headWork) await context.headWork;
        if (isStream(result)) {
          throw new RouteError(
            "idempotent",
            `Cannot reply to ${name}: its reply is a stream, which is not kept, leave out "idempotent"`,
          );
        }
        return await toReply(result, request);
      },
      toErrorReply,
    });
  };
}

/** Whether a result is a stream of values. It is not begun. */
function isStream(result: unknown): boolean {
  if (result instanceof ChosenReply) return isStream(result["~value"]);
  if (result instanceof EventStream) return true;
  if (!(result instanceof Response)) {
    return typeof result === "object" && result !== null && Symbol.asyncIterator in result;
  }
  const isEvents = result.headers.get("content-type")?.startsWith("text/event-stream") ?? false;
  if (isEvents) result.body?.cancel().catch(() => {});
  return isEvents;
}
