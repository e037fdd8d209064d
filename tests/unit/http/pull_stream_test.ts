import { assertEquals, assertStringIncludes } from "@std/assert";
import {
  type Chunk,
  IteratorSource,
  type PullSink,
  type PullSource,
  PullStream,
  type StreamKind,
  type ValueIterator,
} from "../../../src/http/pull_stream.ts";
import { CapturedLog } from "../../spec/support/captured_log.ts";
import { ticks } from "../../spec/support/ticks.ts";
import { StoppedInterval } from "./support/stopped_interval.ts";

/** How many turns of the wheel make a silence. */
const SILENCE = 16;
const HEARTBEAT_MS = 15_000;

const EVENTS: StreamKind = { name: "stream", readsAhead: true, breaksOff: false, heartbeat: toChunk("beat") };
const REPLY: StreamKind = { name: "stream", readsAhead: false, breaksOff: true };

function toChunk(text: string): Chunk {
  return new TextEncoder().encode(text);
}

/** A source that writes what the test says, and counts its pulls. */
class ManualSource implements PullSource {
  /** The time of the last chunk without a pull. */
  lastBroadcastAt: number | undefined;
  pulls = 0;
  closed = 0;
  #sink: PullSink | undefined;

  pull(sink: PullSink): void {
    this.#sink = sink;
    this.pulls++;
  }

  /** Enqueues a chunk that does not answer a pull. */
  broadcast(text: string): void {
    this.lastBroadcastAt = performance.now();
    this.#sink!.controller!.enqueue(toChunk(text));
  }

  write(text: string): void {
    if (this.#sink!.write(toChunk(text))) this.pulls++;
  }

  end(): void {
    this.#sink!.end();
  }

  fail(error: unknown): void {
    this.#sink!.fail(error);
  }

  cancelPull(): boolean {
    return this.lastBroadcastAt !== undefined;
  }

  close(): void {
    this.closed++;
  }
}

/** A stream of such a source and the client that reads it. Silences pass when the test says so. */
class Connection implements Disposable {
  readonly source = new ManualSource();
  readonly stop = new AbortController();
  readonly stream = new PullStream(this.source, EVENTS, this.stop.signal, HEARTBEAT_MS);
  readonly reader = this.stream.toReadable().getReader();
  readonly #interval = new StoppedInterval();

  /** The next chunk that the client reads; undefined at the end. */
  async read(): Promise<string | undefined> {
    const { value } = await this.reader.read();
    return value && new TextDecoder().decode(value);
  }

  /** The next chunk if the client starts to read before an event. */
  async readDuring(event: () => void): Promise<string | undefined> {
    const read = this.read();
    await ticks(1);
    event();
    return await read;
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

Deno.test("a source is pulled when the client reads, and not before", async () => {
  using connection = new Connection();
  const { source, reader } = connection;
  await ticks(2);
  assertEquals([source.pulls, connection.timers], [0, 0]);
  const text = await connection.readDuring(() => {
    assertEquals([source.pulls, connection.timers], [1, 1]);
    source.write("a");
  });
  assertEquals(text, "a");
  await reader.cancel();
  assertEquals([source.closed, connection.timers], [1, 0]);
});

Deno.test("a client that stops reading costs one chunk, and its source is not pulled until it reads again", async () => {
  using connection = new Connection();
  const { source, reader } = connection;
  assertEquals(await connection.readDuring(() => source.write("a")), "a");
  assertEquals(source.pulls, 2);
  source.write("b");
  await ticks(2);
  assertEquals(source.pulls, 2);
  assertEquals(await connection.read(), "b");
  const text = await connection.readDuring(() => {
    assertEquals(source.pulls, 3);
    source.write("c");
  });
  assertEquals(text, "c");
  await reader.cancel();
});

Deno.test("a heartbeat breaks each silence, and only one unread heartbeat waits", async () => {
  using connection = new Connection();
  const { source, reader } = connection;
  for (let beat = 0; beat < 3; beat++) {
    assertEquals(await connection.readDuring(() => connection.passSilence()), "beat");
  }
  assertEquals(source.pulls, 1);
  connection.passSilence();
  source.write("a");
  await ticks(1);
  assertEquals(source.pulls, 1);
  assertEquals([await connection.read(), await connection.read()], ["beat", "a"]);
  await reader.cancel();
});

Deno.test("a broadcast ends a silence, and does not answer a pull", async () => {
  using connection = new Connection();
  const { source, reader } = connection;
  assertEquals(await connection.readDuring(() => source.broadcast("a")), "a");
  const text = await connection.readDuring(() => {
    connection.passSilence();
    source.broadcast("b");
  });
  assertEquals([text, source.pulls], ["b", 1]);
  await reader.cancel();
});

Deno.test("a source with an unread broadcast is pulled again when the client reads on", async () => {
  using connection = new Connection();
  const { source, reader } = connection;
  assertEquals(await connection.readDuring(() => source.broadcast("a")), "a");
  source.broadcast("b");
  await ticks(2);
  assertEquals(source.pulls, 1);
  assertEquals(await connection.read(), "b");
  const text = await connection.readDuring(() => {
    assertEquals(source.pulls, 2);
    source.broadcast("c");
  });
  assertEquals(text, "c");
  await reader.cancel();
});

Deno.test("a client that takes nothing for 30 seconds is disconnected, and its source is closed", async () => {
  using connection = new Connection();
  const { source } = connection;
  assertEquals(await connection.readDuring(() => source.write("a")), "a");
  source.write("b");
  connection.passSilence();
  assertEquals(source.closed, 0);
  connection.passSilence();
  assertEquals([source.closed, connection.timers], [1, 0]);
  assertEquals([await connection.read(), await connection.read()], ["b", undefined]);
});

Deno.test("a client that reads on within that time is not", async () => {
  using connection = new Connection();
  const { source, reader } = connection;
  assertEquals(await connection.readDuring(() => source.write("0")), "0");
  for (let count = 1; count < 5; count++) {
    source.write(`${count}`);
    connection.passSilence();
    assertEquals(await connection.read(), `${count}`);
    assertEquals(await connection.readDuring(() => source.write("next")), "next");
  }
  assertEquals(source.closed, 0);
  await reader.cancel();
});

Deno.test("the end of the source, its failure, the stop of the server: each ends the stream, and the source is closed once", async () => {
  const ways: [title: string, end: (connection: Connection) => void, logged: string][] = [
    ["end", ({ source }) => source.end(), ""],
    ["failure", ({ source }) => source.fail(new Error("the cause")), "the cause"],
    ["stop", ({ stop }) => stop.abort(), ""],
  ];
  for (const [title, end, logged] of ways) {
    using log = new CapturedLog();
    using connection = new Connection();
    const { source, stream, stop } = connection;
    assertEquals(await connection.readDuring(() => end(connection)), undefined, title);
    // All of this is too late.
    source.write("late");
    source.fail(new Error("late"));
    stop.abort();
    await stream.close();
    assertEquals([source.closed, connection.timers], [1, 0], title);
    if (logged === "") assertEquals(log.text, "", title);
    else assertStringIncludes(log.text, logged);
    assertEquals(log.text.includes("late"), false);
  }
});

Deno.test("a stream that begins while the server stops ends at once, and pulls nothing", async () => {
  const source = new ManualSource();
  const reader = new PullStream(source, EVENTS, AbortSignal.abort(), HEARTBEAT_MS).toReadable().getReader();
  assertEquals((await reader.read()).done, true);
  assertEquals([source.pulls, source.closed], [0, 1]);
});

Deno.test("without reading ahead a source is pulled once for each read", async () => {
  const source = new ManualSource();
  const reader = new PullStream(source, REPLY).toReadable().getReader();
  for (const [index, text] of ["a", "b", "c"].entries()) {
    const read = reader.read();
    await ticks(1);
    assertEquals(source.pulls, index + 1);
    source.write(text);
    assertEquals((await read).value, toChunk(text));
    await ticks(2);
    assertEquals(source.pulls, index + 1);
  }
  await reader.cancel();
  assertEquals(source.closed, 1);
});

/** A stream of the values of an iterator. */
function streamOf(iterator: ValueIterator, opening?: string): { values: IteratorSource; stream: PullStream } {
  const values = new IteratorSource(iterator, {
    kind: REPLY,
    encode: (value) => toChunk(String(value)),
    opening: opening === undefined ? undefined : toChunk(opening),
  });
  return { values, stream: new PullStream(values, REPLY) };
}

Deno.test("the values of an iterator come after the opening, and a value without bytes is skipped", async () => {
  async function* give() {
    yield* ["", "a", "", "b"];
  }
  const { values, stream } = streamOf(give(), "opening ");
  assertEquals(await values.peek(), { done: false, value: "" });
  assertEquals(await new Response(stream.toReadable()).text(), "opening ab");
});

Deno.test("an iterator that is making a value is asked to return, without waiting for it", async () => {
  let returns = 0;
  const { stream } = streamOf({
    next: () => new Promise(() => {}),
    return: () => {
      returns++;
      return new Promise(() => {});
    },
  });
  const reader = stream.toReadable().getReader();
  const read = reader.read();
  await ticks(1);
  await reader.cancel();
  assertEquals([(await read).done, returns], [true, 1]);
  await stream.close();
  assertEquals(returns, 1);
});

Deno.test("an iterator that has ended, well or not, is not asked to return", async () => {
  using log = new CapturedLog();
  const ends: [next: () => Promise<{ done: boolean }>, logged: boolean][] = [
    [() => Promise.resolve({ done: true }), false],
    [() => Promise.reject(new Error("broken")), true],
  ];
  for (const [next, isLogged] of ends) {
    let returns = 0;
    const { stream } = streamOf({ next, return: () => Promise.resolve(returns++) });
    const text = await new Response(stream.toReadable()).text().catch(({ message }) => message);
    assertEquals([text, returns], [isLogged ? "broken" : "", 0]);
  }
  assertEquals(log.lines.length, 1);
  assertStringIncludes(log.text, "A stream broke off");
});
