// A node's log, of which each look reads only what is new.

import { type LogEntry, parseLog } from "./log_entry.ts";

const NEWLINE = 10;

/** A log that is being written. */
export class LogFile {
  readonly #path: string;
  readonly #entries: LogEntry[] = [];
  #offset = 0;

  /** Reads nothing yet; the file need not be there. */
  constructor(path: string) {
    this.#path = path;
  }

  /** All whole lines that have been read. */
  get entries(): readonly LogEntry[] {
    return this.#entries;
  }

  /** Reads the whole lines that are new, and tells whether there are some. Synchronous: many runs look at many logs all the time. */
  look(): boolean {
    const bytes = this.#readNew();
    const end = bytes.lastIndexOf(NEWLINE) + 1;
    for (const entry of parseLog(new TextDecoder().decode(bytes.subarray(0, end)))) this.#entries.push(entry);
    this.#offset += end;
    return end > 0;
  }

  #readNew(): Uint8Array {
    try {
      using file = Deno.openSync(this.#path);
      const bytes = new Uint8Array(Math.max(0, file.statSync().size - this.#offset));
      file.seekSync(this.#offset, Deno.SeekMode.Start);
      return bytes.subarray(0, file.readSync(bytes) ?? 0);
    } catch (error) {
      if (error instanceof Deno.errors.NotFound) return new Uint8Array();
      throw error;
    }
  }
}
