/**
 * The messages of KV Connect in bytes, in the format of Protocol Buffers:
 * https://github.com/denoland/denokv/blob/main/proto/schema/datapath.proto. The package's own code
 * for them used half of the processor time of a node that reads many topics.
 */

export interface PackedEntry {
  readonly key: Uint8Array;
  readonly value: Uint8Array;
  readonly encoding: string;
  readonly versionstamp: Uint8Array;
}

export interface ReadMessage {
  readonly ranges: readonly ReadRange[];
}

export interface ReadRange {
  readonly start: Uint8Array;
  readonly end: Uint8Array;
  readonly limit: number;
}

export interface Mutation {
  readonly key: Uint8Array;
  readonly mutationType: "M_SET" | "M_DELETE" | "M_SET_SUFFIX_VERSIONSTAMPED_KEY";
  readonly value: { readonly data: Uint8Array; readonly encoding: "VE_BYTES" } | undefined;
  readonly expireAtMs?: string | undefined;
}

export interface WriteMessage {
  readonly checks: readonly { readonly key: Uint8Array; readonly versionstamp: Uint8Array | undefined }[];
  readonly mutations: readonly Mutation[];
  readonly enqueues: readonly never[];
}

const MUTATION_TYPES: Readonly<Record<Mutation["mutationType"], number>> = {
  M_SET: 1,
  M_DELETE: 2,
  M_SET_SUFFIX_VERSIONSTAMPED_KEY: 9,
};
const VE_BYTES = 3;

/** Undefined fields are left out. */
type Field = readonly [number: number, value: number | Uint8Array | readonly Field[] | undefined];

export function encodeRead({ ranges }: ReadMessage): Uint8Array<ArrayBuffer> {
  return encodeMessage(ranges.map(({ start, end, limit }) => [1, [[1, start], [2, end], [3, limit]]]));
}

export function encodeWrite({ checks, mutations }: WriteMessage): Uint8Array<ArrayBuffer> {
  return encodeMessage([
    ...checks.map(({ key, versionstamp }): Field => [1, [[1, key], [2, versionstamp]]]),
    ...mutations.map(({ key, value, mutationType, expireAtMs }): Field => [2, [
      [1, key],
      [2, value && [[1, value.data], [2, VE_BYTES]]],
      [3, MUTATION_TYPES[mutationType]],
      [4, expireAtMs === undefined ? undefined : Number(expireAtMs)],
    ]]),
  ]);
}

function encodeMessage(fields: readonly Field[]): Uint8Array<ArrayBuffer> {
  const parts: (Uint8Array | readonly number[])[] = [];
  for (const [number, value] of fields) {
    if (value === undefined) continue;
    if (typeof value === "number") {
      parts.push(toVarint(number << 3), toVarint(value));
    } else {
      const bytes = value instanceof Uint8Array ? value : encodeMessage(value);
      parts.push(toVarint(number << 3 | 2), toVarint(bytes.length), bytes);
    }
  }
  return joined(parts);
}

function joined(parts: readonly ArrayLike<number>[]): Uint8Array<ArrayBuffer> {
  const whole = new Uint8Array(parts.reduce((length, part) => length + part.length, 0));
  let position = 0;
  for (const part of parts) {
    whole.set(part, position);
    position += part.length;
  }
  return whole;
}

/** Times exceed 32 bits, so the bits are taken by division. */
function toVarint(value: number): number[] {
  const bytes: number[] = [];
  for (; value >= 0x80; value = Math.floor(value / 0x80)) bytes.push(value % 0x80 | 0x80);
  bytes.push(value);
  return bytes;
}

/** The entries of a reply, and the reply without them, which has its status. */
export interface DecodedRead {
  readonly ranges: readonly (readonly PackedEntry[])[];
  readonly rest: Uint8Array<ArrayBuffer>;
}

/** @throws {TypeError} If the reply is cut off. */
export function decodeRead(reply: Uint8Array): DecodedRead {
  const ranges: PackedEntry[][] = [];
  const rest: Uint8Array[] = [];
  decodeMessage(reply, (number, range, field) => {
    if (number !== 1 || typeof range === "number") return void rest.push(field);
    const entries: PackedEntry[] = [];
    decodeMessage(range, (number, entry) => {
      if (number === 1 && typeof entry !== "number") entries.push(decodeEntry(entry));
    });
    ranges.push(entries);
  });
  return { ranges, rest: joined(rest) };
}

const EMPTY = new Uint8Array();

function decodeEntry(message: Uint8Array): PackedEntry {
  const entry = { key: EMPTY, value: EMPTY, encoding: "VE_UNSPECIFIED", versionstamp: EMPTY } as Writable<PackedEntry>;
  decodeMessage(message, (number, value) => {
    if (typeof value !== "number") {
      if (number === 1) entry.key = value;
      else if (number === 2) entry.value = value;
      else if (number === 4) entry.versionstamp = value;
    } else if (number === 3 && value === VE_BYTES) entry.encoding = "VE_BYTES";
  });
  return entry;
}

type Writable<Type> = { -readonly [Name in keyof Type]: Type[Name] };

/** How many bytes a field of a wire type without a length has. */
const FIXED_SIZES: Readonly<Record<number, number>> = { 1: 8, 5: 4 };
const [VARINT, LENGTH_DELIMITED] = [0, 2];

type OnField = (number: number, value: number | Uint8Array, field: Uint8Array) => void;

function decodeMessage(message: Uint8Array, onField: OnField): void {
  let position = 0;
  const varint = (): number => {
    let value = 0;
    for (let unit = 1;; unit *= 0x80) {
      const byte = message[position++];
      if (byte === undefined) throw new TypeError("Cannot read a reply of the database: it is cut off");
      value += (byte & 0x7f) * unit;
      if (byte < 0x80) return value;
    }
  };
  while (position < message.length) {
    const start = position;
    const tag = varint();
    const type = tag & 7;
    let value: number | Uint8Array;
    if (type === VARINT) value = varint();
    else {
      const end = (type === LENGTH_DELIMITED ? varint() : FIXED_SIZES[type] ?? NaN) + position;
      if (!(end <= message.length)) throw new TypeError("Cannot read a reply of the database: it is cut off");
      value = message.subarray(position, position = end);
    }
    onField(tag >>> 3, value, message.subarray(start, position));
  }
}
