/**
 * Parses a stream of events: HTML Living Standard, section 9.2.6.
 *
 * The parsers of npm drop the id of a block without data. Servers send such a block at the
 * beginning of a stream, and with heartbeats, so that a client that has got no event can resume.
 */

import { checkLength } from "./streamed_reply.ts";

/** An event, as it was sent. */
export interface ParsedEvent {
  /** The name; `message` where the server gave none. */
  type: string;
  /** The lines of data, with line feeds between them. */
  data: string;
}

/**
 * Characters that come back in no header. The standard ignores an id with a NUL, and a line end
 * cannot be in one.
 */
// deno-lint-ignore no-control-regex
const UNFIT_ID = /[\x00-\x1f\x7f]/;

/** Reads streams, one after another. */
export class EventParser {
  /** The id of the latest block. Undefined where no block has had one yet. */
  id: string | undefined;
  /** How long the server asks clients to wait before they come back, in milliseconds. */
  retry: number | undefined;
  /** The id in a block that has not ended. */
  #id: string | undefined;
  #block: Partial<ParsedEvent> = {};
  /** The characters of the lines of data in a block that has not ended. */
  #size = 0;
  /** The beginning of a line that has not ended. */
  #line = "";
  #endsInCR = false;

  /**
   * Begins another stream, which goes on after the id. What has not ended in the last one is
   * dropped.
   */
  begin(): void {
    this.#id = this.id;
    this.#line = "";
    this.#block = {};
    this.#size = 0;
    this.#endsInCR = false;
  }

  /**
   * Reads on, and gives the events that end in this text.
   *
   * @throws {RangeError} If an event is larger than 16 Mi characters.
   */
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
        this.id = this.#id;
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
      // Of the whole line: an empty one takes memory, too.
      this.#size += line.length;
      block.data = block.data === undefined ? value : `${block.data}\n${value}`;
    } else if (field === "event") block.type = value;
    else if (field === "id" && !UNFIT_ID.test(value)) this.#id = value;
    else if (field === "retry" && /^\d+$/.test(value)) this.retry = +value;
  }
}
