/** The values of replies that are streams: events, or lines of JSON. Loaded with the first one. */
import type { CallSignal } from "./call_signal.ts";
import { EventParser } from "./event_parser.ts";
import { checkLength, closable, LEFT, parseJson, textOf } from "./streamed_reply.ts";
import type { ClientEvent } from "./types.ts";

/** The name of the event by which a server reports missing messages. */
const GAP_EVENT = "webfw.gap";

type Gap = NonNullable<ClientEvent<unknown>["gap"]>;

/**
 * The values of a reply to a request that is not sent again. A connection that breaks is an error.
 * `return` cancels the body, also while a value is waited for.
 *
 * @param response The reply.
 * @param call The call, which ends with the values.
 * @param hasEvents Whether it holds events, and not lines of JSON.
 */
export function valuesOf({ body }: Response, call: CallSignal, hasEvents: boolean): AsyncIterableIterator<unknown> {
  const texts = textOf(body, call);
  return closable(hasEvents ? eventsOf(texts, new EventParser()) : linesOf(texts, call), call, body);
}

/**
 * The events in a text.
 *
 * @param texts The parts of the text.
 * @param parser Reads it.
 * @param isRaw Whether the data of events stays text.
 * @throws {SyntaxError} If data is not JSON.
 */
export async function* eventsOf(
  texts: AsyncIterable<string>,
  parser: EventParser,
  isRaw?: boolean,
): AsyncGenerator<ClientEvent<unknown>, void> {
  for await (const text of texts) {
    for (const { type, data } of parser.parse(text)) {
      if (type === GAP_EVENT) yield { gap: parseJson(data) as Gap };
      else yield { id: parser.id || undefined, type, data: isRaw ? data : parseJson(data) };
    }
  }
}

async function* linesOf(texts: AsyncIterable<string>, { signal }: CallSignal): AsyncGenerator<unknown, void> {
  let rest = "";
  for await (const text of texts) {
    const [first = "", ...others] = text.split("\n");
    rest += first;
    for (const next of others) {
      if (rest.trim() !== "") yield JSON.parse(rest);
      rest = next;
    }
    checkLength(rest.length);
  }
  // Lines that a signal has cut off must not look complete.
  if (signal.aborted && signal.reason !== LEFT) throw signal.reason;
  if (!signal.aborted && rest.trim() !== "") yield JSON.parse(rest);
}
