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

  /** All whole lines. */
  async read(): Promise<readonly LogEntry[]> {
    try {
      using file = await Deno.open(this.#path);
      const length = (await file.stat()).size - this.#offset;
      const bytes = new Uint8Array(Math.max(0, length));
      await file.seek(this.#offset, Deno.SeekMode.Start);
      const count = await file.read(bytes) ?? 0;
      const end = bytes.subarray(0, count).lastIndexOf(NEWLINE) + 1;
      for (const entry of parseLog(new TextDecoder().decode(bytes.subarray(0, end)))) this.#entries.push(entry);
      this.#offset += end;
    } catch (error) {
      if (!(error instanceof Deno.errors.NotFound)) throw error;
    }
    return this.#entries;
  }
}
