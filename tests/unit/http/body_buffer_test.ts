import { assertEquals, assertRejects } from "@std/assert";
import { HTTPError } from "../../../src/base/errors.ts";
import { BodyBuffer, ChunkReader } from "../../../src/http/body_buffer.ts";
import { Random } from "../support/random.ts";

type Chunk = Uint8Array<ArrayBuffer>;

function sourceOf(chunks: readonly number[][], pulled: { count: number } = { count: 0 }): ChunkReader {
  const source = new ReadableStream<Chunk>({
    pull(controller) {
      const chunk = chunks[pulled.count++];
      if (chunk) controller.enqueue(new Uint8Array(chunk));
      else controller.close();
    },
  }, { highWaterMark: 0 });
  return new ChunkReader(source);
}

async function bytesOf(stream: ReadableStream<Chunk>): Promise<number[]> {
  return [...await new Response(stream).bytes()];
}

Deno.test("Each stream gives the whole source, one after another or at the same time", async () => {
  const buffer = new BodyBuffer(sourceOf([[1, 2], [3], [], [4]]), 100);
  const [first, second] = await Promise.all([bytesOf(buffer.open()), bytesOf(buffer.open())]);
  assertEquals([first, second, await bytesOf(buffer.open())], [[1, 2, 3, 4], [1, 2, 3, 4], [1, 2, 3, 4]]);
});

Deno.test("A stream continues where it was after another one overtakes it", async () => {
  const buffer = new BodyBuffer(sourceOf([[1], [2], [3]]), 100);
  const slow = buffer.open().getReader();
  assertEquals((await slow.read()).value, new Uint8Array([1]));
  assertEquals(await bytesOf(buffer.open()), [1, 2, 3]);
  assertEquals((await slow.read()).value, new Uint8Array([2, 3]));
  assertEquals((await slow.read()).done, true);
});

Deno.test("Random readers of random sources get the same bytes", async () => {
  const random = new Random(7);
  for (let round = 0; round < 100; round++) {
    const chunks = random.list(6, () => random.list(3, () => random.below(256)));
    const buffer = new BodyBuffer(sourceOf(chunks), 1_000);
    const readers = Array.from(
      { length: 3 },
      () => ({ reader: buffer.open().getReader(), got: [] as number[], done: false }),
    );
    while (readers.some(({ done }) => !done)) {
      const one = random.pick(readers);
      const { done, value } = await one.reader.read();
      one.done = done;
      if (value) one.got.push(...value);
    }
    for (const { got } of readers) assertEquals(got, chunks.flat());
  }
});

Deno.test("A reader that changes its chunks does not change those of others", async () => {
  const buffer = new BodyBuffer(sourceOf([[1, 2], [3, 4]]), 100);
  for await (const chunk of buffer.open()) chunk.fill(0);
  for await (const chunk of buffer.open()) chunk.fill(0);
  assertEquals(await buffer.readAll(100), new Uint8Array([1, 2, 3, 4]));
});

Deno.test("The whole source is read, also after a stream has read a part of it", async () => {
  const buffer = new BodyBuffer(sourceOf([[1, 2], [3], [4]]), 3);
  const reader = buffer.open().getReader();
  await reader.read();
  assertEquals(await buffer.readAll(4), new Uint8Array([1, 2, 3, 4]));
  const larger = new BodyBuffer(sourceOf([[1, 2], [3], [4]]), 100);
  assertEquals((await assertRejects(() => larger.readAll(3), HTTPError)).status, 413);
});

Deno.test("Whether a source is empty is known once its first byte arrives", async () => {
  const pulled = { count: 0 };
  assertEquals(await new BodyBuffer(sourceOf([[], []]), 10).isEmpty(), true);
  assertEquals(await new BodyBuffer(sourceOf([]), 10).isEmpty(), true);
  const buffer = new BodyBuffer(sourceOf([[], [1], [2]], pulled), 10);
  assertEquals([await buffer.isEmpty(), pulled.count], [false, 2]);
  assertEquals(await bytesOf(buffer.open()), [1, 2]);
});

Deno.test("The source is pulled only when a stream is read", async () => {
  const pulled = { count: 0 };
  const buffer = new BodyBuffer(sourceOf([[1], [2]], pulled), 100);
  const reader = buffer.open().getReader();
  buffer.open();
  assertEquals(pulled.count, 0);
  await reader.read();
  assertEquals(pulled.count, 1);
  await reader.cancel();
});

Deno.test("A source over the limit can be read once, then is refused with 413", async () => {
  const buffer = new BodyBuffer(sourceOf([[1, 2], [3, 4]]), 3);
  const early = buffer.open().getReader();
  await early.read();
  assertEquals(await bytesOf(buffer.open()), [1, 2, 3, 4]);
  for (const read of [() => early.read(), () => bytesOf(buffer.open())]) {
    assertEquals((await assertRejects(read, HTTPError)).status, 413);
  }
});

Deno.test("A source that breaks off is a 400 for each reader, with its error as the cause", async () => {
  const buffer = new BodyBuffer(
    new ChunkReader(
      new ReadableStream<Chunk>({
        pull: (controller) => controller.error(new RangeError("broken")),
      }, { highWaterMark: 0 }),
    ),
    10,
  );
  for (let turn = 0; turn < 2; turn++) {
    const { status, cause } = await assertRejects(() => bytesOf(buffer.open()), HTTPError);
    assertEquals([status, cause instanceof RangeError], [400, true]);
  }
});

Deno.test("A cancelled source fails for its readers, and does not look complete", async () => {
  let reason: unknown = "nothing yet";
  const source = new ReadableStream<Chunk>({
    pull: (controller) => controller.enqueue(new Uint8Array(1)),
    cancel: (given) => void (reason = given),
  }, { highWaterMark: 0 });
  const buffer = new BodyBuffer(new ChunkReader(source), 10);
  const reader = buffer.open().getReader();
  await reader.read();
  await buffer.cancel();
  assertEquals(reason, undefined);
  assertEquals((await assertRejects(() => reader.read(), HTTPError)).status, 400);
});
