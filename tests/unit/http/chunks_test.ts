// Bodies in memory: they take what has arrived of them, and little more.

import { assert, assertEquals } from "@std/assert";
import { ByteStore, ChunkReader } from "../../../src/http/body_buffer.ts";
import { Random } from "../support/random.ts";

type Chunk = Uint8Array<ArrayBuffer>;

/** A stream like those of Deno's server: it fills the memory of its reader, or 64 KiB of its own. */
function byteStream(chunks: readonly Chunk[]): ReadableStream<Chunk> {
  let next = 0;
  let offset = 0;
  return new ReadableStream({
    type: "bytes",
    autoAllocateChunkSize: 65_536,
    pull(controller) {
      const { view, respond } = {
        view: controller.byobRequest!.view as Chunk,
        respond: (size: number) => controller.byobRequest!.respond(size),
      };
      const chunk = chunks[next];
      if (!chunk) {
        controller.close();
        return respond(0);
      }
      const part = chunk.subarray(offset, offset + view.length);
      view.set(part);
      offset += part.length;
      if (offset === chunk.length) [next, offset] = [next + 1, 0];
      respond(part.length);
    },
  });
}

/** A stream without memory of its own. Its chunks are views of larger memory. */
function viewStream(chunks: readonly Chunk[]): ReadableStream<Chunk> {
  return ReadableStream.from(chunks.map((chunk) => {
    const memory = new Uint8Array(chunk.length + 65_536);
    memory.set(chunk, 100);
    return memory.subarray(100, 100 + chunk.length);
  }));
}

async function chunksOf(source: ReadableStream<Chunk>): Promise<Chunk[]> {
  const reader = new ChunkReader(source);
  const chunks: Chunk[] = [];
  for (let chunk = await reader.read(); chunk; chunk = await reader.read()) chunks.push(chunk);
  return chunks;
}

function join(chunks: readonly Chunk[]): number[] {
  return chunks.flatMap((chunk) => [...chunk]);
}

for (const [name, streamOf] of [["fills given memory", byteStream], ["has chunks of its own", viewStream]] as const) {
  Deno.test(`Chunks are complete and take at most twice their size, from a stream that ${name}`, async () => {
    const random = new Random(5);
    const sizes = [1, 1, 10, 1, 40_000, 3, 70_000, 32_768, 1];
    const sent = sizes.map((size) => Uint8Array.from({ length: size }, () => random.below(256)));
    const read = await chunksOf(streamOf(sent));
    assertEquals(join(read), join(sent));
    for (const { length, buffer } of read) assert(buffer.byteLength <= 2 * length, `${length} in ${buffer.byteLength}`);
  });
}

Deno.test("The end of a stream stays the end", async () => {
  const reader = new ChunkReader(byteStream([new Uint8Array([1])]));
  assertEquals([await reader.read(), await reader.read(), await reader.read()], [
    new Uint8Array([1]),
    undefined,
    undefined,
  ]);
});

Deno.test("Kept bytes take at most 32 KiB more than their number, however small their chunks are", () => {
  const store = new ByteStore();
  for (let size = 1; size <= 200_000; size++) {
    store.append(new Uint8Array([size]));
    if (size % 977 > 0) continue;
    const memory = store.parts().reduce((sum, { buffer }) => sum + buffer.byteLength, 0);
    assert(memory <= size + 32 * 1024, `${size} in ${memory}`);
    assert(store.parts().length <= 10 + size / (16 * 1024), `${size} in ${store.parts().length}`);
  }
});

Deno.test("Kept bytes are those that were appended, from any index", () => {
  const random = new Random(9);
  for (let round = 0; round < 50; round++) {
    const store = new ByteStore();
    const sent: number[] = [];
    for (const size of random.list(12, () => random.pick([0, 1, 2, 511, 512, 513, 5_000]))) {
      const chunk = Uint8Array.from({ length: size }, () => random.below(256));
      store.append(chunk);
      sent.push(...chunk);
      chunk.fill(0);
    }
    assertEquals([store.size, [...store.whole()]], [sent.length, sent]);
    const index = random.below(sent.length + 1);
    const read = [...sent.slice(0, index)];
    for (let part = store.from(read.length); part.length > 0; part = store.from(read.length)) read.push(...part);
    assertEquals(read, sent);
  }
});
