import { assertEquals, assertStringIncludes } from "@std/assert";
import {
  type Chunk,
  type ChunkReceiver,
  EventBody,
  type EventChunks,
  toChunk,
} from "../../../../src/http/sse/stream.ts";
import { CapturedLog } from "../../../spec/support/captured_log.ts";
import { ticks } from "../../../spec/support/ticks.ts";
import { StoppedInterval } from "../support/stopped_interval.ts";

/** How many turns of the wheel of `watchIdle` make a silence. */
const SILENCE = 16;
const HEARTBEAT_MS = 15_000;

/** A source that gives what the test gives, and counts how often it is asked. */
class GivingChunks implements EventChunks {
  /** When it put something into the stream by itself. */
  sentAt: number | undefined;
  asked = 0;
  closed = 0;
  #receiver: ChunkReceiver | undefined;

  resumeAfter(): void {}

  open(receiver: ChunkReceiver): void {
    this.#receiver = receiver;
  }

  ask(): void {
    this.asked++;
  }

  /** Puts a chunk into the stream by itself. */
  put(text: string): void {
    this.sentAt = performance.now();
    this.#receiver!.controller!.enqueue(toChunk(text));
  }

  give(text: string | undefined): void {
    if (this.#receiver!.take(text === undefined ? undefined : toChunk(text))) this.asked++;
  }

  fail(error: unknown): void {
    this.#receiver!.fail(error);
  }

  withdraw(): boolean {
    return this.sentAt !== undefined;
  }

  heartbeat(): Chunk {
    return toChunk("beat");
  }

  close(): void {
    this.closed++;
  }
}

/** A stream over such a source, whose silences pass when the test says so. */
class Sending implements Disposable {
  readonly chunks = new GivingChunks();
  readonly stop = new AbortController();
  readonly body = new EventBody(this.chunks, HEARTBEAT_MS, this.stop.signal);
  readonly reader = this.body.toStream().getReader();
  readonly #interval = new StoppedInterval();

  /** What the client reads; undefined at the end. */
  async read(): Promise<string | undefined> {
    const { value } = await this.reader.read();
    return value && new TextDecoder().decode(value);
  }

  passSilence(): void {
    this.#interval.pass(SILENCE);
  }

  get timers(): number {
    return this.#interval.size;
  }

  [Symbol.dispose](): void {
    this.#interval[Symbol.dispose]();
  }
}

Deno.test("a source is asked when the client reads, and not before", async () => {
  using sending = new Sending();
  await ticks(2);
  assertEquals([sending.chunks.asked, sending.timers], [0, 0]);
  const read = sending.read();
  await ticks(1);
  assertEquals([sending.chunks.asked, sending.timers], [1, 1]);
  sending.chunks.give("a");
  assertEquals(await read, "a");
  await sending.reader.cancel();
  assertEquals([sending.chunks.closed, sending.timers], [1, 0]);
});

Deno.test("a client that stops reading holds one chunk, and its source is asked for no more until it reads on", async () => {
  using sending = new Sending();
  const { chunks } = sending;
  const read = sending.read();
  await ticks(1);
  chunks.give("a");
  assertEquals(await read, "a");
  assertEquals(chunks.asked, 2);
  chunks.give("b");
  await ticks(2);
  assertEquals(chunks.asked, 2);
  assertEquals(await sending.read(), "b");
  const next = sending.read();
  await ticks(1);
  assertEquals(chunks.asked, 3);
  chunks.give("c");
  assertEquals(await next, "c");
  await sending.reader.cancel();
});

Deno.test("a heartbeat breaks each silence, and what comes after one that was not taken waits, once", async () => {
  using sending = new Sending();
  const { chunks } = sending;
  for (let beat = 0; beat < 3; beat++) {
    const read = sending.read();
    await ticks(1);
    sending.passSilence();
    assertEquals(await read, "beat");
  }
  assertEquals(chunks.asked, 1);
  sending.passSilence();
  chunks.give("a");
  await ticks(1);
  assertEquals(chunks.asked, 1);
  assertEquals([await sending.read(), await sending.read()], ["beat", "a"]);
  await sending.reader.cancel();
});

Deno.test("what a source puts into the stream by itself is no silence, and is not asked for again", async () => {
  using sending = new Sending();
  const { chunks } = sending;
  const read = sending.read();
  await ticks(1);
  chunks.put("a");
  assertEquals(await read, "a");
  const next = sending.read();
  sending.passSilence();
  chunks.put("b");
  assertEquals([await next, chunks.asked], ["b", 1]);
  await sending.reader.cancel();
});

Deno.test("a source that has put into the stream what the client does not take is asked again when it reads on", async () => {
  using sending = new Sending();
  const { chunks } = sending;
  const read = sending.read();
  await ticks(1);
  chunks.put("a");
  assertEquals(await read, "a");
  chunks.put("b");
  await ticks(2);
  assertEquals(chunks.asked, 1);
  assertEquals(await sending.read(), "b");
  const next = sending.read();
  await ticks(1);
  assertEquals(chunks.asked, 2);
  chunks.put("c");
  assertEquals(await next, "c");
  await sending.reader.cancel();
});

Deno.test("a client that takes nothing for 30 seconds is given up, and its source is closed", async () => {
  using sending = new Sending();
  const { chunks } = sending;
  const read = sending.read();
  await ticks(1);
  chunks.give("a");
  assertEquals(await read, "a");
  chunks.give("b");
  sending.passSilence();
  assertEquals(chunks.closed, 0);
  sending.passSilence();
  assertEquals([chunks.closed, sending.timers], [1, 0]);
  assertEquals([await sending.read(), await sending.read()], ["b", undefined]);
});

Deno.test("a client that reads on within that time is not", async () => {
  using sending = new Sending();
  const { chunks } = sending;
  const read = sending.read();
  await ticks(1);
  chunks.give("0");
  assertEquals(await read, "0");
  for (let count = 1; count < 5; count++) {
    chunks.give(`${count}`);
    sending.passSilence();
    assertEquals(await sending.read(), `${count}`);
    const next = sending.read();
    await ticks(1);
    chunks.give("next");
    assertEquals(await next, "next");
  }
  assertEquals(chunks.closed, 0);
  await sending.reader.cancel();
});

Deno.test("the end of the source, its failure, the stop of the server: each ends the stream, and the source is closed once", async () => {
  const ways: [title: string, end: (sending: Sending) => void, logged: string][] = [
    ["end", ({ chunks }) => chunks.give(undefined), ""],
    ["failure", ({ chunks }) => chunks.fail(new Error("the cause")), "the cause"],
    ["stop", ({ stop }) => stop.abort(), ""],
  ];
  for (const [title, end, logged] of ways) {
    using log = new CapturedLog();
    using sending = new Sending();
    const read = sending.read();
    await ticks(1);
    end(sending);
    assertEquals(await read, undefined, title);
    // Whatever comes now is too late.
    sending.chunks.give("late");
    sending.chunks.fail(new Error("late"));
    sending.stop.abort();
    await sending.body.end();
    assertEquals([sending.chunks.closed, sending.timers], [1, 0], title);
    if (logged === "") assertEquals(log.text, "", title);
    else assertStringIncludes(log.text, logged);
    assertEquals(log.text.includes("late"), false);
  }
});

Deno.test("a stream that begins while the server stops ends at once, and asks for nothing", async () => {
  const chunks = new GivingChunks();
  const body = new EventBody(chunks, HEARTBEAT_MS, AbortSignal.abort());
  const reader = new ReadableStream<Chunk>(body, { highWaterMark: 0 }).getReader();
  assertEquals((await reader.read()).done, true);
  assertEquals([chunks.asked, chunks.closed], [0, 1]);
});
