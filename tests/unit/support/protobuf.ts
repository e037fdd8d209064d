/**
 * Messages in Protocol Buffers, as a database sends and gets them:
 * https://protobuf.dev/programming-guides/encoding/
 */

/** A field: its number, and a number or bytes. */
export type Field = readonly [number: number, value: number | Uint8Array];

/** Encodes a message. */
export function encodeMessage(fields: readonly Field[]): Uint8Array<ArrayBuffer> {
  return Uint8Array.from(fields.flatMap(([number, value]) => {
    if (typeof value === "number") return [...toVarint(number << 3), ...toVarint(value)];
    return [...toVarint(number << 3 | 2), ...toVarint(value.length), ...value];
  }));
}

/** Decodes a message. */
export function decodeMessage(bytes: Uint8Array): Field[] {
  const fields: Field[] = [];
  let position = 0;
  const readVarint = (): number => {
    for (let value = 0, factor = 1;; factor *= 128) {
      const byte = bytes[position++]!;
      value += (byte & 0x7f) * factor;
      if (byte < 0x80) return value;
    }
  };
  while (position < bytes.length) {
    const tag = readVarint();
    const value = readVarint();
    const isBytes = (tag & 7) === 2;
    fields.push([tag >>> 3, isBytes ? bytes.slice(position, position += value) : value]);
  }
  return fields;
}

function toVarint(value: number): number[] {
  return value < 0x80 ? [value] : [value % 128 | 0x80, ...toVarint(Math.floor(value / 128))];
}
