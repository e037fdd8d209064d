/** Files whose content is a blob of another kind, as one on disk is. */

type Bytes = Uint8Array<ArrayBuffer>;

/**
 * A file of a content. The platform reads it as any other; its own stream comes straight from the content, which is told when its
 * reader goes: Deno 2.5 does not pass that on.
 */
export class StoredFile extends File {
  readonly #content: Blob;

  /**
   * Names a content.
   *
   * @param content What the file holds.
   * @param name Its name.
   * @param options Its type, and when it was changed.
   */
  constructor(content: Blob, name: string, options: FilePropertyBag) {
    super([content], name, options);
    this.#content = content;
  }

  /** The bytes, as they are read. */
  override stream(): ReadableStream<Bytes> {
    return this.#content.stream();
  }

  /** A part of the file, from one byte to another. */
  override slice(start = 0, end: number = this.size, type = ""): Blob {
    const [first, last] = [placeIn(this.size, start), placeIn(this.size, end)];
    return new StoredPart(this.#content.slice(first, Math.max(first, last)), { type });
  }
}

class StoredPart extends Blob {
  readonly #content: Blob;

  constructor(content: Blob, options: BlobPropertyBag) {
    super([content], options);
    this.#content = content;
  }

  override stream(): ReadableStream<Bytes> {
    return this.#content.stream();
  }
}

/** A place that is within bounds; a negative one is counted from the end. */
function placeIn(size: number, place: number): number {
  const whole = Math.round(place) || 0;
  return whole < 0 ? Math.max(0, size + whole) : Math.min(whole, size);
}
