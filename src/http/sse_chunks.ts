/** Where a stream of events comes from: chunks of whole events, each made when it is asked for. */
import type { DataEncoding } from "./sse_event.ts";

/** Bytes of whole events. */
export type Chunk = Uint8Array<ArrayBuffer>;

/** The stream that chunks go to. */
export type ChunkController = ReadableStreamDefaultController<Chunk>;

/** Takes what it has asked for. */
export interface ChunkReceiver {
  /** Where a source that has been asked may put chunks by itself, one after the other, until it is told not to. */
  readonly controller: ChunkController | undefined;
  /**
   * The next chunk; undefined at the end. It must not ask meanwhile.
   *
   * @returns Whether it asks for the one after it.
   */
  take(chunk: Chunk | undefined): boolean;
  /** The source has failed, and gives nothing more. */
  fail(error: unknown): void;
}

/** Gives chunks, one at a time. */
export interface EventChunks {
  /**
   * Goes on after an event that the client has seen, if the source can.
   *
   * @throws {HTTPError} With 400, when no event had such an id.
   */
  resumeAfter(id: string): void;
  /** Begins to give. */
  open(receiver: ChunkReceiver): void;
  /** Asks for the next chunk. It is asked again only when the receiver has got it. */
  ask(): void;
  /** Takes the question back, for a client that takes nothing more for now. False where it cannot: then a chunk may still come. */
  withdraw(): boolean;
  /** When it last put a chunk into the stream by itself, in milliseconds of `performance.now()`. */
  readonly sentAt: number | undefined;
  /** What is sent where there has been nothing else to send for a while. */
  heartbeat(): Chunk;
  /** Ends the source, also while it is asked: the receiver may get what it asked for, or nothing. It never fails. */
  close(): Promise<void> | void;
}

/** What holds for all events of a stream. */
export interface ChunkOptions {
  /** How data becomes text. */
  readonly encode: DataEncoding;
  /** How long the client waits before it comes back, in milliseconds. */
  readonly retry: number | undefined;
}

const encoder = new TextEncoder();

/** The bytes of events. */
export function toChunk(frames: string): Chunk {
  return encoder.encode(frames);
}
