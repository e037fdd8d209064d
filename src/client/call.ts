/** Calls a route: one request, or several if the call is idempotent. */
import type { Values } from "./arguments.ts";
import type { CallSignal } from "./call_signal.ts";
import { isJson } from "./problem.ts";
import { load, type Sender } from "./sender.ts";
import type { IdempotentOptions } from "./types.ts";

/**
 * @returns The content of the reply.
 * @throws {ProblemError} If the reply is no success.
 * @throws {TypeError} If an option is unknown, an argument cannot be sent, or the connection fails.
 */
export async function callRoute(
  sender: Sender,
  method: string,
  path: string,
  values: Values = {},
  options: IdempotentOptions = {},
): Promise<unknown> {
  const call = sender.begin(options, `call ${method} ${path}`, ["idempotent"]);
  const attempt = async (key?: string) => {
    const parts = { method, path, values, options, fixed: { "idempotency-key": key } };
    return await resultOf(await sender.send(parts, call), call);
  };
  try {
    return await call.until(
      options.idempotent
        ? load(() => import("./retry.ts")).then(({ repeat }) => repeat(attempt, call, values.body))
        : attempt(),
    );
  } finally {
    call.settle();
    if (!call.isStreaming) call.release();
  }
}

/** The content type decides: the client has no list of routes. A stream keeps the call. */
async function resultOf(response: Response, call: CallSignal): Promise<unknown> {
  const { status, headers } = response;
  const type = headers.get("content-type") ?? "";
  if (status === 204 || status === 205 || isJson(type)) {
    const text = await response.text();
    return text ? JSON.parse(text) : undefined;
  }
  const [stream, events] = /^application\/(?:jsonl|x-ndjson)\b|^(text\/event-stream)\b/i.exec(type) ?? [];
  if (stream) {
    const { valuesOf } = await load(() => import("./streams.ts"));
    // Only now: an abort during the import releases the call.
    call.isStreaming = true;
    return valuesOf(response, call, !!events);
  }
  // Text has a charset. `text/csv` without one may be the bytes of a file.
  if (/;\s*charset=/i.test(type)) return await response.text();
  const blob = await response.blob();
  return type || blob.size ? blob : undefined;
}
