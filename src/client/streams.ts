/** Reads server-sent events and lines of JSON. Loaded late. */
import type { CallSignal } from "./call_signal.ts";
import type { ClientEvent } from "./types.ts";

/** Platforms fire longer timers at once. */
const MAX_TIMER_MS = 2 ** 31 - 1;
/** In characters, of one event or line. */
const MAX_ITEM = 16 * 1024 * 1024;

type Gap = NonNullable<ClientEvent<unknown>["gap"]>;

export interface ParsedEvent {
  type: string;
  /** Joined by line feeds. */
  data: string;
}

/** Where a stream resumes, and when. */
export interface Cursor {
  /** Of the last complete block. */
  id?: string | undefined;
  /** In milliseconds, from the server. */
  retry?: number;
}

/**
 * Parses server-sent events (HTML Living Standard, section 9.2.6). The parsers of npm drop the id
 * of a block without data, which servers send at the start and with heartbeats, so that a client
 * without any event can resume.
 */
export class EventParser {
  readonly #cursor: Cursor;
  #id: string | undefined;
  #block: Partial<ParsedEvent> = {};
  /** Of the data in the incomplete block. */
  #size = 0;
  /** An incomplete line. */
  #line = "";
  #endsInCR = false;

  /** @param cursor Each complete block moves it. */
  constructor(cursor: Cursor) {
    this.#cursor = cursor;
    this.#id = cursor.id;
  }

  /** Yields the events that end in this part of the stream. */
  *parse(text: string): Generator<ParsedEvent, void, void> {
    let start = this.#endsInCR && text.startsWith("\n") ? 1 : 0;
    if (text !== "") this.#endsInCR = text.endsWith("\r");
    for (const { index, 0: lineEnd } of text.matchAll(/\r\n?|\n/g)) {
      if (index < start) continue;
      const line = this.#line + text.slice(start, index);
      this.#line = "";
      start = index + lineEnd.length;
      if (line !== "") this.#readLine(line);
      else {
        const { data, type } = this.#block;
        this.#cursor.id = this.#id;
        this.#block = {};
        this.#size = 0;
        if (data !== undefined) yield { type: type || "message", data };
      }
    }
    this.#line += text.slice(start);
    checkLength(this.#size + this.#line.length);
  }

  #readLine(line: string): void {
    const [, field, value = ""] = /^([^:]*)(?:: ?(.*))?$/s.exec(line)!;
    const block = this.#block;
    if (field === "data") {
      // The whole line: empty ones take memory, too.
      this.#size += line.length;
      block.data = block.data === undefined ? value : `${block.data}\n${value}`;
    } else if (field === "event") block.type = value;
    // HTML ignores an id with a NUL, and a header field can hold no control character.
    // deno-lint-ignore no-control-regex
    else if (field === "id" && !/[\x00-\x1f\x7f]/.test(value)) this.#id = value;
    else if (field === "retry" && /^\d+$/.test(value)) this.#cursor.retry = +value;
  }
}

/** A broken connection is an error. `return` cancels the body at any time. */
export function valuesOf(
  { body }: Response,
  call: CallSignal,
  hasEvents: boolean,
  isRaw?: boolean,
): AsyncIterableIterator<unknown> {
  return closable(hasEvents ? eventsOf(body, call, {}, isRaw) : linesOf(body, call), call, body);
}

/** `isRaw` keeps data as a string. See {@linkcode textOf} about `idleTimeout`. */
export async function* eventsOf(
  body: Response["body"],
  call: CallSignal,
  cursor: Cursor,
  isRaw?: boolean,
  idleTimeout?: number,
): AsyncGenerator<ClientEvent<unknown>, void> {
  const parser = new EventParser(cursor);
  for await (const text of textOf(body, call, idleTimeout)) {
    for (const { type, data } of parser.parse(text)) {
      if (type === "webfw.gap") yield { gap: parseJson(data) as Gap };
      else yield { id: cursor.id || undefined, type, data: isRaw ? data : parseJson(data) };
    }
  }
}

async function* linesOf(body: Response["body"], call: CallSignal): AsyncGenerator<unknown, void> {
  const { signal } = call;
  let rest = "";
  for await (const text of textOf(body, call)) {
    const [first = "", ...others] = text.split("\n");
    rest += first;
    for (const next of others) {
      if (rest.trim() !== "") yield JSON.parse(rest);
      rest = next;
    }
    checkLength(rest.length);
  }
  // An aborted stream must not look complete.
  if (signal.aborted && signal.reason !== call) throw signal.reason;
  if (!signal.aborted && rest.trim() !== "") yield JSON.parse(rest);
}

/**
 * Reads a chunk only on demand, so a slow program slows the server down.
 *
 * @param idleTimeout After this silence, in milliseconds, or if the connection breaks, the text
 * ends. Without it, that is an error, and the call ends with the text.
 */
async function* textOf(body: Response["body"], call: CallSignal, idleTimeout?: number): AsyncGenerator<string> {
  // Read here, so that `abort` ends `until`.
  const { signal } = call;
  const reader = (body ?? new Blob().stream()).getReader();
  const decoder = new TextDecoder();
  const cancel = () => reader.cancel().catch(() => {});
  try {
    for (;;) {
      // Cancelling resolves a pending read with the end.
      const timer = idleTimeout && setTimeout(cancel, Math.min(idleTimeout, MAX_TIMER_MS));
      const { done, value } = await call.until(reader.read()).finally(() => clearTimeout(timer));
      if (done) return;
      yield decoder.decode(value, { stream: true });
    }
  } catch (error) {
    if (!idleTimeout && !signal.aborted) throw error;
  } finally {
    await cancel();
    if (!idleTimeout) call.release();
  }
}

/** `return` also ends a pending `next`: that of a generator would wait for it. */
export function closable<Value>(
  values: AsyncGenerator<Value, void>,
  call: CallSignal,
  body?: Response["body"],
): AsyncIterableIterator<Value> {
  return {
    next: () => values.next(),
    return() {
      // The call as the reason: the program has left the loop.
      call.abort(call);
      // An unread generator runs no `finally`.
      call.release();
      body?.cancel().catch(() => {});
      return values.return();
    },
    [Symbol.asyncIterator]() {
      return this;
    },
  };
}

/** @throws {SyntaxError} If it is not JSON. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new SyntaxError("Cannot read the data: it is not JSON, give { raw: true } for text");
  }
}

/** Bounds the memory for one event or line. */
function checkLength(length: number): void {
  if (length > MAX_ITEM) throw new RangeError(`Cannot read the stream: an item is longer than ${MAX_ITEM} characters`);
}
