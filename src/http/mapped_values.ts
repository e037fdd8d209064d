/** Async iterables whose values are changed on the way. */
import type { NextValue, ValueIterator } from "./pull_stream.ts";

/**
 * The same iterable with other values. Unlike a generator, it passes `return()` on at once, also
 * while it makes a value: one that waits for something is closed with its client.
 *
 * @param source The iterable. A `ReadableStream` is cancelled when the iteration ends.
 * @param map Makes the value in place of another. If it throws, the source is closed.
 */
export function mapValues(source: AsyncIterable<unknown>, map: (value: unknown) => unknown): AsyncIterable<unknown> {
  return { [Symbol.asyncIterator]: () => new MappedValues(iteratorOf(source), map) };
}

/**
 * The iterator of an iterable. A stream's own does not let it be cancelled while it makes a value.
 */
export function iteratorOf(source: AsyncIterable<unknown>): ValueIterator {
  if (!(source instanceof ReadableStream)) return source[Symbol.asyncIterator]();
  const reader = source.getReader();
  return { next: () => reader.read(), return: () => reader.cancel() };
}

class MappedValues implements AsyncIterator<unknown> {
  readonly #source: ValueIterator;
  readonly #map: (value: unknown) => unknown;

  constructor(source: ValueIterator, map: (value: unknown) => unknown) {
    this.#source = source;
    this.#map = map;
  }

  async next(): Promise<IteratorResult<unknown>> {
    const { done = false, value }: NextValue = await this.#source.next();
    if (done) return { done, value: undefined };
    try {
      return { done, value: await this.#map(value) };
    } catch (error) {
      await this.#source.return?.();
      throw error;
    }
  }

  async return(): Promise<IteratorResult<unknown>> {
    await this.#source.return?.();
    return { done: true, value: undefined };
  }
}
