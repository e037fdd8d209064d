/** What a topic gives, as events. */
import type { TopicGap, TopicMessage } from "../topics/message.ts";
import { type Chunk, toChunk } from "./sse_chunks.ts";
import { type DataEncoding, toData } from "./sse_event.ts";
import { toFrame } from "./sse_frame.ts";

/** The name of the event that tells of missing messages. */
const GAP = "webfw.gap";

/** How the messages of a batch become events. Readers for whom it is the same can share the bytes. */
export interface BatchForm {
  /** How data becomes text. */
  readonly encode: DataEncoding;
  /** What stands before the id of a message in the id of its event. */
  readonly before: string;
  /** What stands after it. */
  readonly after: string;
}

/** The forms of batches whose ids stand by themselves. */
export const BARE_FORMS: Readonly<Record<DataEncoding, BatchForm>> = {
  json: { encode: "json", before: "", after: "" },
  text: { encode: "text", before: "", after: "" },
};

interface EncodedBatch extends BatchForm {
  /** Held weakly: a topic holds its batches ready for longer than anyone may read at these places. */
  readonly chunk: WeakRef<Chunk>;
}

/** The latest form of each batch. */
const encoded = new WeakMap<readonly TopicMessage[], EncodedBatch>();

/**
 * The events of a batch, as one chunk. It is encoded once for all readers at the same place: they have the very same batch.
 *
 * @throws {TypeError} When the data has no JSON form.
 */
export function batchChunk(batch: readonly TopicMessage[], form: BatchForm): Chunk {
  return sharedChunk(batch, form) ?? encodeBatch(batch, form);
}

function sharedChunk(batch: readonly TopicMessage[], form: BatchForm): Chunk | undefined {
  const known = encoded.get(batch);
  return known && isSameForm(known, form) ? known.chunk.deref() : undefined;
}

function encodeBatch(batch: readonly TopicMessage[], { encode, before, after }: BatchForm): Chunk {
  let frames = "";
  for (const { id, type, data } of batch) {
    frames += toFrame({ event: type, id: before + id + after, data: toData(data, encode) });
  }
  const chunk = toChunk(frames);
  encoded.set(batch, { encode, before, after, chunk: new WeakRef(chunk) });
  return chunk;
}

/**
 * The event that tells of missing messages.
 *
 * @param gap What is missing.
 * @param id What to resume after.
 * @param topic The topic, where there are several.
 */
export function gapChunk({ gap }: TopicGap, id: string, topic?: string): Chunk {
  const data = JSON.stringify(topic === undefined ? gap : { ...gap, topic });
  return toChunk(toFrame({ event: GAP, id, data }));
}

function isSameForm(one: BatchForm, other: BatchForm): boolean {
  return one.before === other.before && one.after === other.after && one.encode === other.encode;
}
