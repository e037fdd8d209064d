/** The lines that a process writes, for tests that wait for some of them. */

import { stripVTControlCharacters } from "node:util";
import { inTime } from "../support/wait.ts";

/** Reads a stream to its end and keeps its lines. */
export class Lines {
  /** Settles when the stream has ended. */
  readonly ended: Promise<void>;
  readonly #lines: string[] = [];
  #position = 0;
  #hasEnded = false;
  #wake = Promise.withResolvers<void>();

  constructor(stream: ReadableStream<Uint8Array<ArrayBuffer>>) {
    this.ended = this.#read(stream);
  }

  /** All lines so far. */
  get text(): string {
    return this.#lines.join("\n");
  }

  /** Waits for a matching line after the one that was last waited for, and gives the match. */
  async next(pattern: RegExp): Promise<RegExpExecArray> {
    return await inTime(this.#next(pattern), () => `no line matches ${pattern}:\n${this.text}`);
  }

  async #next(pattern: RegExp): Promise<RegExpExecArray> {
    while (true) {
      while (this.#position < this.#lines.length) {
        const match = pattern.exec(this.#lines[this.#position++]!);
        if (match !== null) return match;
      }
      if (this.#hasEnded) throw new Error(`No line matches ${pattern}:\n${this.text}`);
      await this.#wake.promise;
    }
  }

  async #read(stream: ReadableStream<Uint8Array<ArrayBuffer>>): Promise<void> {
    let rest = "";
    for await (const chunk of stream.pipeThrough(new TextDecoderStream())) {
      const lines = (rest + stripVTControlCharacters(chunk)).split("\n");
      rest = lines.pop()!;
      this.#lines.push(...lines);
      this.#notify();
    }
    if (rest !== "") this.#lines.push(rest);
    this.#hasEnded = true;
    this.#notify();
  }

  #notify(): void {
    this.#wake.resolve();
    this.#wake = Promise.withResolvers();
  }
}
