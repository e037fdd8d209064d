/** Parts of blobs whose content is a blob of another kind, as one on disk is. */

/** A part whose stream comes straight from its content, which is told when its reader goes: Deno 2.5 does not pass that on. */
class BlobPart extends Blob {
  readonly #content: Blob;

  constructor(content: Blob, options: BlobPropertyBag) {
    super([content], options);
    this.#content = content;
  }

  override stream(): ReadableStream<Uint8Array<ArrayBuffer>> {
    return this.#content.stream();
  }
}

/**
 * What `slice()` gives, of a content that is read through its own stream.
 *
 * @param content What is cut.
 * @param start The first byte; a negative one is counted from the end.
 * @param end The byte after the last, likewise.
 * @param type The media type.
 */
export function partOf(content: Blob, start = 0, end: number = content.size, type = ""): Blob {
  const [first, last] = [placeIn(content.size, start), placeIn(content.size, end)];
  return new BlobPart(content.slice(first, Math.max(first, last)), { type });
}

function placeIn(size: number, place: number): number {
  const whole = Math.round(place) || 0;
  return whole < 0 ? Math.max(0, size + whole) : Math.min(whole, size);
}
