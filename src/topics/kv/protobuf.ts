/** Messages of Protocol Buffers, as far as KV Connect needs them: fields of numbers, of bytes, and of other messages. */

const VARINT = 0;
const FIXED_64 = 1;
const LENGTH_DELIMITED = 2;
const FIXED_32 = 5;

/** A field that was read: a number up to 2^53, or bytes. */
export type Field = readonly [number: number, value: number | Uint8Array];

/** A field to write: a number up to 2^53, bytes, or a message of such fields. */
export type NewField = readonly [number: number, value: number | Uint8Array | readonly NewField[]];

/** How many bytes there is room for at first. */
const ROOM = 1_024;
/** The most bytes that the tag of a field takes, and its number or the length of its bytes. */
const FIELD_BYTES = 16;

/**
 * Writes a message from its end to its begin, so that the length of each part is known when it is its turn: what comes last is to be
 * written first.
 */
export class MessageWriter {
  #bytes: Uint8Array<ArrayBuffer>;
  #begin: number;

  /**
   * Begins with nothing.
   *
   * @param room For how many bytes there is room at first; more is made where it is needed.
   */
  constructor(room: number = ROOM) {
    this.#bytes = new Uint8Array(room);
    this.#begin = room;
  }

  /**
   * Where that begins which was written last, and that ends which comes before it. It is counted from the end of the message, so that it
   * stays where it is when room is made.
   */
  get place(): number {
    return this.#begin - this.#bytes.length;
  }

  /** Writes a field of a number up to 2^53. */
  number(field: number, value: number): void {
    this.#makeRoom(FIELD_BYTES);
    this.#prepend(value);
    this.#prepend(field << 3 | VARINT);
  }

  /** Writes a field of bytes. */
  bytes(field: number, value: Uint8Array): void {
    const end = this.place;
    this.#makeRoom(value.length);
    this.#bytes.set(value, this.#begin -= value.length);
    this.wrap(field, end);
  }

  /** Writes a byte of a field that is wrapped afterwards. */
  byte(value: number): void {
    if (this.#begin === 0) this.#makeRoom(1);
    this.#bytes[--this.#begin] = value;
  }

  /** Makes a field of what was written since a place: bytes, or a message. */
  wrap(field: number, end: number): void {
    const length = end - this.place;
    this.#makeRoom(FIELD_BYTES);
    this.#prepend(length);
    this.#prepend(field << 3 | LENGTH_DELIMITED);
  }

  /** The message. */
  finish(): Uint8Array<ArrayBuffer> {
    return this.#bytes.subarray(this.#begin);
  }

  #prepend(value: number): void {
    let position = this.#begin -= sizeOf(value);
    for (; value > 0x7f; value = Math.floor(value / 128)) this.#bytes[position++] = value % 128 | 0x80;
    this.#bytes[position] = value;
  }

  #makeRoom(count: number): void {
    if (count <= this.#begin) return;
    const { length } = this.#bytes;
    const bytes = new Uint8Array(2 * length + count);
    const begin = this.#begin + bytes.length - length;
    bytes.set(this.finish(), begin);
    [this.#bytes, this.#begin] = [bytes, begin];
  }
}

/**
 * Writes a message.
 *
 * @param fields Its fields; one that repeats comes several times.
 */
export function encodeMessage(fields: readonly NewField[]): Uint8Array<ArrayBuffer> {
  const writer = new MessageWriter();
  writeFields(writer, fields);
  return writer.finish();
}

function writeFields(writer: MessageWriter, fields: readonly NewField[]): void {
  for (const [field, value] of fields.toReversed()) {
    if (typeof value === "number") writer.number(field, value);
    else if (value instanceof Uint8Array) writer.bytes(field, value);
    else {
      const end = writer.place;
      writeFields(writer, value as readonly NewField[]);
      writer.wrap(field, end);
    }
  }
}

/**
 * Reads the fields of a message, in their order. Bytes are a view of the message.
 *
 * @throws {TypeError} When it is cut off, or is no message.
 */
export function* decodeMessage(bytes: Uint8Array): Generator<Field> {
  let position = 0;
  const read = (): number => {
    for (let value = 0, weight = 1;; weight *= 128) {
      const byte = bytes[position++];
      if (byte === undefined) throw new TypeError("Cannot read a message of the database: it is cut off");
      value += (byte & 0x7f) * weight;
      if (byte < 0x80) return value;
    }
  };
  const take = (length: number): Uint8Array => {
    const end = position + length;
    if (end > bytes.length) throw new TypeError("Cannot read a message of the database: it is cut off");
    const part = bytes.subarray(position, end);
    position = end;
    return part;
  };
  while (position < bytes.length) {
    const tag = read();
    const number = Math.floor(tag / 8);
    switch (tag % 8) {
      case VARINT:
        yield [number, read()];
        break;
      case LENGTH_DELIMITED:
        yield [number, take(read())];
        break;
      case FIXED_64:
        yield [number, take(8)];
        break;
      case FIXED_32:
        yield [number, take(4)];
        break;
      default:
        throw new TypeError("Cannot read a message of the database: it is none of Protocol Buffers");
    }
  }
}

function sizeOf(value: number): number {
  let size = 1;
  for (; value > 0x7f; value = Math.floor(value / 128)) size++;
  return size;
}
