// A client of server-sent events, which reads a stream as the HTML Living Standard says (section
// 9.2.6).

/** An event as a page gets it. */
export interface ReceivedEvent {
  readonly event: string;
  readonly data: string;
  /** The id that the client would come back with. */
  readonly id: string;
}

/** Reads the events of a reply. Disposing of it is the client's going. */
export class EventReader implements AsyncDisposable {
  readonly #reader: ReadableStreamDefaultReader<string>;
  #buffer = "";
  #hasBegun = false;
  /** The id that the client would send as `Last-Event-ID`. */
  lastEventId = "";
  /** How long it would wait before it connects again, in milliseconds. */
  retry: number | undefined;
  /** How many comments have come. */
  comments = 0;

  constructor(response: Response) {
    this.#reader = response.body!.pipeThrough(new TextDecoderStream("utf-8", { ignoreBOM: true })).getReader();
  }

  /** The next event; undefined at the end. */
  async next(): Promise<ReceivedEvent | undefined> {
    for (;;) {
      const block = await this.#block();
      if (block === undefined) return undefined;
      const event = this.#dispatch(block);
      if (event) return event;
    }
  }

  /** The next events. */
  async take(count: number): Promise<ReceivedEvent[]> {
    const events: ReceivedEvent[] = [];
    while (events.length < count) {
      const event = await this.next();
      if (!event) throw new Error(`The stream ended after ${events.length} events`);
      events.push(event);
    }
    return events;
  }

  /** Reads one block. It may have no event. */
  async block(): Promise<string | undefined> {
    const block = await this.#block();
    if (block !== undefined) this.#dispatch(block);
    return block;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#reader.cancel();
  }

  async #block(): Promise<string | undefined> {
    for (;;) {
      const end = /(?:\r\n|\r|\n){2}/.exec(this.#buffer);
      if (end) {
        const block = this.#buffer.slice(0, end.index);
        this.#buffer = this.#buffer.slice(end.index + end[0].length);
        return block;
      }
      const { done, value } = await this.#reader.read();
      if (done) return undefined;
      this.#buffer += this.#hasBegun ? value : value.replace(/^\ufeff/, "");
      this.#hasBegun = true;
    }
  }

  #dispatch(block: string): ReceivedEvent | undefined {
    let event = "message";
    const data: string[] = [];
    for (const line of block.split(/\r\n|\r|\n/)) {
      if (line.startsWith(":")) this.comments++;
      const [, field, value = ""] = /^([^:]*)(?:: ?(.*))?$/s.exec(line)!;
      if (field === "event") event = value;
      else if (field === "data") data.push(value);
      else if (field === "id" && !value.includes("\0")) this.lastEventId = value;
      else if (field === "retry" && /^\d+$/.test(value)) this.retry = Number(value);
    }
    return data.length === 0 ? undefined : { event, data: data.join("\n"), id: this.lastEventId };
  }
}
