/**
 * Makes the result of a call from its reply. There is no list of routes: the reply's type decides.
 */
import { load } from "./load.ts";
import type { CallSignal } from "./call_signal.ts";
import { isJson } from "./problem.ts";

/**
 * Reads a reply: JSON, text, lines of JSON, events, or any other bytes as a `Blob`.
 *
 * @param response The reply, a success.
 * @param call The call. A stream takes it over.
 */
export async function resultOf(response: Response, call: CallSignal): Promise<unknown> {
  const { status, headers } = response;
  const type = headers.get("content-type") ?? "";
  if (status === 204 || status === 205 || isJson(type)) {
    const text = await response.text();
    return text ? JSON.parse(text) : undefined;
  }
  const [stream, events] = /^application\/(?:jsonl|x-ndjson)\b|^(text\/event-stream)\b/i.exec(type) ?? [];
  if (stream) {
    call.isStreaming = true;
    return (await load(() => import("./streamed_values.ts"))).valuesOf(response, call, !!events);
  }
  // Servers name the charset of texts. `text/csv` without one may be the bytes of a file.
  if (/;\s*charset=/i.test(type)) return await response.text();
  const blob = await response.blob();
  return type || blob.size ? blob : undefined;
}
