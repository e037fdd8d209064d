/** Subscriptions as a stream of events that a client can resume: one topic, or several in one stream. */
import { HTTPError } from "../errors.ts";
import type { TopicEntry, TopicMessage } from "../topics/message.ts";
import { checkId, type Subscription } from "../topics/subscription.ts";
import { batchChunk, gapChunk } from "./sse_batch.ts";
import { type Chunk, type ChunkOptions, type EventChunks, toChunk } from "./sse_chunks.ts";
import { COMMENT, toFrame } from "./sse_frame.ts";

type Batch = readonly TopicEntry[];

/** One of the subscriptions. */
class Source {
  readonly subscription: Subscription;
  /** The topic in the ids of several: `orders=`. Empty where there is one. */
  readonly label: string;
  /** What was sent up to. */
  cursor: string | undefined;
  /** Whether it was asked for a batch that has not been sent. */
  isAsked = false;
  hasEnded = false;

  constructor(subscription: Subscription, label: string) {
    this.subscription = subscription;
    this.label = label;
  }
}

/**
 * The batches of subscriptions, each a chunk. One batch of each topic is taken ahead at most.
 *
 * An event's id is that of its message; of several topics it holds how far each has come, `orders=…,prices=…` with the names as in
 * URLs.
 */
export class TopicChunks implements EventChunks {
  readonly #sources: readonly Source[];
  readonly #options: ChunkOptions;
  readonly #ready: (readonly [Source, Batch])[] = [];
  #failure: { readonly error: unknown } | undefined;
  #wake = (): void => {};
  #hasBegun = false;

  /** Takes subscriptions to different topics. */
  constructor(subscriptions: readonly Subscription[], options: ChunkOptions) {
    const isOne = subscriptions.length === 1;
    this.#sources = subscriptions.map((each) =>
      new Source(each, isOne ? "" : `${encodeURIComponent(each.topic.name)}=`)
    );
    this.#options = options;
  }

  /**
   * Goes on after an event that a client has seen. Topics that were not in its stream begin where they were told to.
   *
   * @throws {HTTPError} With 400, when no stream gave such an id.
   */
  resumeAfter(id: string): void {
    try {
      const cursors = this.#cursorsOf(id);
      for (const { subscription } of this.#sources) {
        const cursor = cursors.get(subscription.topic.name);
        if (cursor !== undefined) subscription.resumeAfter(cursor);
      }
    } catch (cause) {
      if (!(cause instanceof SyntaxError || cause instanceof URIError)) throw cause;
      throw new HTTPError(400, "The stream cannot be resumed: the last event id is not one of its ids", { cause });
    }
  }

  async next(): Promise<Chunk | undefined> {
    if (!this.#hasBegun) return await this.#begin();
    for (;;) {
      this.#ask();
      const ready = this.#ready.shift();
      if (ready) return await this.#toChunk(...ready);
      if (this.#failure) throw this.#failure.error;
      if (this.#sources.every(({ hasEnded }) => hasEnded)) return undefined;
      await new Promise<void>((resolve) => this.#wake = resolve);
    }
  }

  /** It repeats the id, for a client that has seen no event of its own. */
  heartbeat(): Chunk {
    return toChunk(this.#hasBegun ? ":\n" + toFrame({ id: this.#id }) : COMMENT);
  }

  close(): void {
    for (const { subscription } of this.#sources) subscription.close();
  }

  get #id(): string {
    return this.#labelled(this.#sources).join(",");
  }

  #labelled(sources: readonly Source[]): readonly string[] {
    return sources.filter(({ cursor }) => cursor !== undefined).map(({ label, cursor }) => label + cursor);
  }

  /** An id before anything else: a client that goes before the first event resumes from here. */
  async #begin(): Promise<Chunk | undefined> {
    await Promise.all(this.#sources.map(async (source) => source.cursor = await source.subscription.cursor()));
    this.#hasBegun = true;
    const isOpen = this.#sources.some(({ cursor }) => cursor !== undefined);
    return isOpen ? toChunk(toFrame({ id: this.#id, retry: this.#options.retry })) : undefined;
  }

  #ask(): void {
    for (const source of this.#sources) {
      if (source.isAsked || source.hasEnded) continue;
      source.isAsked = true;
      source.subscription.nextBatch().then((batch) => {
        if (batch) this.#ready.push([source, batch]);
        else source.hasEnded = true;
        this.#wake();
      }, (error) => {
        this.#failure = { error };
        this.#wake();
      });
    }
  }

  async #toChunk(source: Source, batch: Batch): Promise<Chunk> {
    const { subscription, label } = source;
    const [first] = batch;
    source.isAsked = false;
    if (first && "gap" in first) {
      // A gap comes alone, and has no id: the place where reading goes on is known before the next batch is asked for.
      source.cursor = await subscription.cursor();
      return gapChunk(first, this.#id, label === "" ? undefined : subscription.topic.name);
    }
    const messages = batch as readonly TopicMessage[];
    const index = this.#sources.indexOf(source);
    const before = [...this.#labelled(this.#sources.slice(0, index)), label].join(",");
    const after = ["", ...this.#labelled(this.#sources.slice(index + 1))].join(",");
    source.cursor = messages.at(-1)!.id;
    return batchChunk(messages, { encode: this.#options.encode, before, after });
  }

  #cursorsOf(id: string): ReadonlyMap<string, string> {
    const [only, ...others] = this.#sources;
    const isBare = only !== undefined && others.length === 0 && !id.includes("=");
    const pairs = isBare ? [[only.subscription.topic.name, id] as const] : id.split(",").map(toPair);
    for (const [, cursor] of pairs) checkId(cursor);
    return new Map(pairs);
  }
}

function toPair(part: string): readonly [topic: string, cursor: string] {
  const equals = part.indexOf("=");
  if (equals < 0) throw new SyntaxError("Cannot read the id of a stream of several topics: a topic is missing");
  return [decodeURIComponent(part.slice(0, equals)), part.slice(equals + 1)];
}
