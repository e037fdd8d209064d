/** Messages of Protocol Buffers, as far as KV Connect needs them: fields of numbers, of bytes, and of other messages. */

const VARINT = 0;
const FIXED_64 = 1;
const LENGTH_DELIMITED = 2;
const FIXED_32 = 5;

/** A field: a number up to 2^53, or bytes. */
export type Field = readonly [number: number, value: number | Uint8Array];

/**
 * Writes a message.
 *
 * @param fields Its fields; one that repeats comes several times.
 */
export function encodeMessage(fields: readonly Field[]): Uint8Array<ArrayBuffer> {
  let size = 0;
  for (const [number, value] of fields) {
    size += sizeOf(number << 3);
    size += typeof value === "number" ? sizeOf(value) : sizeOf(value.length) + value.length;
  }
  const bytes = new Uint8Array(size);
  let position = 0;
  const write = (value: number): void => {
    for (; value > 0x7f; value = Math.floor(value / 128)) bytes[position++] = value % 128 | 0x80;
    bytes[position++] = value;
  };
  for (const [number, value] of fields) {
    if (typeof value === "number") {
      write(number << 3 | VARINT);
      write(value);
    } else {
      write(number << 3 | LENGTH_DELIMITED);
      write(value.length);
      bytes.set(value, position);
      position += value.length;
    }
  }
  return bytes;
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
