/**
 * The ids of messages whose publisher gave none: the key of the batch that they were appended in, and their index there,
 * `b9c3a9f0-5f0e-4b0e-9b1c-8a1d3c1e7f42.3`. A store needs to remember but the key for all of them.
 */

const PATTERN = /^([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})\.(0|[1-9][0-9]{0,5})$/;

/** A message as one of a batch. */
export interface BatchPlace {
  /** The key of the batch. */
  readonly key: string;
  /** The index of the message in the batch. */
  readonly index: number;
}

/**
 * A key for a batch: a UUID that begins with the time (version 7 of RFC 9562). A store has keys of the same time beside one another, and
 * so writes fewer pages.
 */
export function newBatchKey(): string {
  const time = Date.now().toString(16).padStart(12, "0");
  return `${time.slice(0, 8)}-${time.slice(8)}-7${crypto.randomUUID().slice(15)}`;
}

/** The id of a message of a batch. */
export function toBatchId(key: string, index: number): string {
  return `${key}.${index}`;
}

/** The place in a batch that an id names; undefined for any other id. */
export function toBatchPlace(id: string): BatchPlace | undefined {
  const [, key, index] = PATTERN.exec(id) ?? [];
  return key === undefined ? undefined : { key, index: Number(index) };
}
