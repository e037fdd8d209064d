/** Messages of Protocol Buffers, as far as KV Connect needs them: fields of numbers, of bytes, and of other messages. */

const VARINT = 0;
const FIXED_64 = 1;
const LENGTH_DELIMITED = 2;
const FIXED_32 = 5;

/** A field that was read: a number up to 2^53, or bytes. */
export type Field = readonly [number: number, value: number | Uint8Array];

/** A field to write: a number up to 2^53, bytes, or a message of such fields. */
export type NewField = readonly [number: number, value: number | Uint8Array | readonly NewField[]];

/** The most bytes that the tag of a field takes, and its number or the length of its bytes. */
const FIELD_BYTES = 16;

/**
 * Writes a message: from its end to its begin, so that the length of each part is known when it is its turn.
 *
 * @param fields Its fields; one that repeats comes several times.
 */
export function encodeMessage(fields: readonly NewField[]): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(boundOf(fields));
  return bytes.subarray(prependFields(bytes, bytes.length, fields));
}

function boundOf(fields: readonly NewField[]): number {
  let bound = 0;
  for (let index = 0; index < fields.length; index++) {
    const value = fields[index]![1];
    bound += FIELD_BYTES;
    if (typeof value !== "number") bound += isBytes(value) ? value.length : boundOf(value);
  }
  return bound;
}

/** Writes fields up to an end, and gives where they begin. */
function prependFields(bytes: Uint8Array, end: number, fields: readonly NewField[]): number {
  let begin = end;
  for (let index = fields.length - 1; index >= 0; index--) {
    const [number, value] = fields[index]!;
    if (typeof value === "number") {
      begin = prependNumber(bytes, begin, value);
      begin = prependNumber(bytes, begin, number << 3 | VARINT);
      continue;
    }
    const valueEnd = begin;
    if (isBytes(value)) bytes.set(value, begin -= value.length);
    else begin = prependFields(bytes, begin, value);
    begin = prependNumber(bytes, begin, valueEnd - begin);
    begin = prependNumber(bytes, begin, number << 3 | LENGTH_DELIMITED);
  }
  return begin;
}

function prependNumber(bytes: Uint8Array, end: number, value: number): number {
  let begin = end - sizeOf(value);
  const first = begin;
  for (; value > 0x7f; value = Math.floor(value / 128)) bytes[begin++] = value % 128 | 0x80;
  bytes[begin] = value;
  return first;
}

function isBytes(value: Uint8Array | readonly NewField[]): value is Uint8Array {
  return value instanceof Uint8Array;
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
