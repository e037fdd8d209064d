// The log of a node: one line of JSON for each step, written before the next step.

/** The data of a message: its publisher, and its number there. */
export interface Payload {
  readonly publisher: string;
  readonly number: number;
  /**
   * Whether its publisher does not wait for each message, so that repeated ones may come after
   * later ones.
   */
  readonly isHasty?: true;
}

/** A step of a node. */
export type LogEntry =
  /** A generation of the node begins. The next one begins after the node was killed. */
  | { readonly kind: "begin"; readonly generation: number }
  /** A publish begins. */
  | { readonly kind: "invoke"; readonly payload: Payload }
  /** It was answered. */
  | { readonly kind: "ok"; readonly payload: Payload; readonly id: string; readonly duplicate: boolean }
  /** It was not, and is made again. */
  | { readonly kind: "unknown"; readonly payload: Payload }
  /** It had not been sent to the store, and is made again. */
  | { readonly kind: "unsent"; readonly payload: Payload }
  /** All was published. */
  | { readonly kind: "published" }
  /**
   * A reader begins: from the earliest message, after the last one it has read, or ahead of all.
   */
  | { readonly kind: "subscribe"; readonly reader: string; readonly after: string | null; readonly isAhead?: true }
  /** A reader got a message. */
  | { readonly kind: "read"; readonly reader: string; readonly id: string; readonly payload: Payload }
  /** A reader got a gap. */
  | {
    readonly kind: "gap";
    readonly reader: string;
    readonly reason: string;
    readonly from: string;
    readonly oldest: string | null;
  };

/** Reads a log. The last line may be cut off, where the node was killed. */
export function parseLog(text: string): LogEntry[] {
  return text.split("\n").slice(0, -1).map((line) => JSON.parse(line) as LogEntry);
}

// A node's log. Each call reads only the new lines.

const NEWLINE = 10;

/** A log that is being written. */
export class LogFile {
  readonly #path: string;
  readonly #entries: LogEntry[] = [];
  #offset = 0;

  /** Makes a reader of a file, which need not exist yet. */
  constructor(path: string) {
    this.#path = path;
  }

  /** All whole lines that have been read. */
  get entries(): readonly LogEntry[] {
    return this.#entries;
  }

  /**
   * Reads the new whole lines, and returns whether there are any. Synchronous, because many runs
   * read many logs all the time.
   */
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

// The progress of nodes, by their logs.

/**
 * The progress of each reader: the last message that it read, or the position at which it
 * continues.
 */
export function readersOf(log: readonly LogEntry[]): (string | undefined)[] {
  const last = new Map<string, string | undefined>();
  for (const entry of log) {
    if (entry.kind === "subscribe") last.set(entry.reader, entry.after ?? undefined);
    else if (entry.kind === "read") last.set(entry.reader, entry.id);
  }
  return [...last.values()];
}

// The order in which a node has published the messages that it stored itself.

/** A message of which it is known by which call it was stored. */
export interface ConfirmedPublish {
  readonly payload: Payload;
  readonly id: string;
}

interface Call {
  /** The index of the last log entry before the call. */
  readonly at: number;
  /** Whether no call before it may have stored the message. */
  readonly isFirst: boolean;
}

/**
 * The messages that a node has stored by the first call that was sent to the store, in the order of
 * these calls: that of the messages.
 *
 * Where the outcome of a call was unknown, or its node was killed, it may have stored the message
 * as well as the one that repeats it, and where another node has published the same, that one's
 * order counts.
 */
export function confirmedPublishesOf(log: readonly LogEntry[]): ConfirmedPublish[] {
  const calls = new Map<string, Call>();
  const found: (ConfirmedPublish & Call)[] = [];
  for (const [at, entry] of log.entries()) {
    if (entry.kind !== "invoke" && entry.kind !== "unsent" && entry.kind !== "unknown" && entry.kind !== "ok") continue;
    const { publisher, number } = entry.payload;
    const name = `${publisher}-${number}`;
    const call = calls.get(name);
    if (entry.kind === "invoke") calls.set(name, { at, isFirst: call === undefined });
    else if (entry.kind === "unsent") calls.set(name, { at, isFirst: call!.isFirst });
    else if (entry.kind === "unknown") calls.set(name, { at, isFirst: false });
    else if (call?.isFirst && !entry.duplicate) found.push({ ...call, payload: entry.payload, id: entry.id });
  }
  return found.sort((one, other) => one.at - other.at);
}
