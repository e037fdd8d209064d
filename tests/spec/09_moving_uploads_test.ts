// Section 9 of the contract: "a multipart body may take as long as it moves (30 s without a byte,
// or less than 16 KiB/s on average after the first 30 s, is 408; readTimeout is then the time
// without a byte)". In virtual time.

import { App, Form, type Limits, UploadFile } from "@webfw/core";
import { assertEquals } from "@std/assert";
import * as v from "valibot";
import { FakeTime } from "../unit/support/fake_time.ts";

const KIBIBYTE = 1024;
const HEAD = '--B\r\nContent-Disposition: form-data; name="file"; filename="a"\r\n\r\n';
const TAIL = "\r\n--B--\r\n";

/** Ways to read a multipart body. Each replies with the size of its file. */
const READERS = ["/form", "/form-data", "/bytes"] as const;

function receiving(limits: Limits = {}): App {
  const app = new App({ limits });
  app.post("/form", { form: Form(v.object({ file: UploadFile })) }, async (_request, { form }) => form.file.size);
  app.post("/form-data", async (request) => {
    const file = (await request.formData()).get("file");
    return file instanceof File ? file.size : null;
  });
  app.post("/bytes", async (request) => (await request.bytes()).length - HEAD.length - TAIL.length);
  app.post("/json", { body: v.string() }, async (_request, { body }) => body.length);
  return app;
}

/** An upload whose bytes a test sends. */
class Upload {
  readonly #app: App;
  readonly #time: FakeTime;
  readonly #encoder = new TextEncoder();
  #body!: ReadableStreamDefaultController<Uint8Array>;
  #isOver = false;
  readonly #response: Promise<Response>;

  constructor(app: App, path: string, time: FakeTime, type = "multipart/form-data; boundary=B") {
    this.#app = app;
    this.#time = time;
    const body = new ReadableStream<Uint8Array>({ start: (controller) => void (this.#body = controller) });
    const request = new Request(`http://localhost${path}`, { method: "POST", body, headers: { "content-type": type } });
    this.#response = app.fetch(request);
    const end = (): void => void (this.#isOver = true);
    this.#response.then(end, end);
  }

  /** Sends text, or this many bytes. */
  async send(content: string | number): Promise<void> {
    if (!this.#isOver) {
      this.#body.enqueue(typeof content === "string" ? this.#encoder.encode(content) : new Uint8Array(content));
    }
    await this.#time.settle();
  }

  /** Sends this many bytes at once, again and again after a pause. */
  async sendEvery(pause: number, size: number, times: number): Promise<void> {
    for (let turn = 0; turn < times; turn++) {
      await this.#time.advance(pause);
      await this.send(size);
    }
  }

  /** Whether the reply is there. */
  get isOver(): boolean {
    return this.#isOver;
  }

  async end(): Promise<[status: number, text: string]> {
    if (!this.#isOver) this.#body.close();
    const response = await this.#response;
    const text = await response.text();
    // Its temporary files are removed after the reply.
    await this.#app.stop();
    return [response.status, text];
  }
}

for (const path of READERS) {
  Deno.test(`An upload that moves takes as long as it needs: ${path}`, async () => {
    using time = new FakeTime();
    const upload = new Upload(receiving(), path, time);
    await upload.send(HEAD);
    // 17 KiB/s for five minutes, in pieces that come seldom.
    await upload.sendEvery(20_000, 340 * KIBIBYTE, 15);
    await upload.send(TAIL);
    assertEquals(await upload.end(), [200, String(15 * 340 * KIBIBYTE)]);
  });

  Deno.test(`An upload without a byte for 30 s is 408: ${path}`, async () => {
    using time = new FakeTime();
    const upload = new Upload(receiving(), path, time);
    await upload.send(HEAD);
    await upload.send(10 * 1024 * KIBIBYTE);
    await time.advance(29_000);
    assertEquals(upload.isOver, false);
    await upload.send(1);
    await time.advance(29_000);
    assertEquals(upload.isOver, false);
    await time.advance(1_000);
    assertEquals(upload.isOver, true);
    assertEquals((await upload.end())[0], 408);
  });

  Deno.test(`An upload below 16 KiB/s is 408 after 30 s, not before: ${path}`, async () => {
    using time = new FakeTime();
    const upload = new Upload(receiving(), path, time);
    await upload.send(HEAD);
    await upload.sendEvery(1_000, 15 * KIBIBYTE, 30);
    assertEquals(upload.isOver, false);
    await upload.sendEvery(1_000, 15 * KIBIBYTE, 1);
    assertEquals(upload.isOver, true);
    assertEquals((await upload.end())[0], 408);
  });
}

Deno.test("What an upload has sent before counts in its average", async () => {
  using time = new FakeTime();
  const upload = new Upload(receiving(), "/form", time);
  await upload.send(HEAD);
  await upload.send(1_600 * KIBIBYTE);
  // A byte a second: the average falls below 16 KiB/s after 100 s.
  await upload.sendEvery(1_000, 1, 99);
  assertEquals(upload.isOver, false);
  await upload.sendEvery(1_000, 1, 2);
  assertEquals(upload.isOver, true);
  assertEquals((await upload.end())[0], 408);
});

Deno.test("For an upload, readTimeout is the time without a byte", async () => {
  using time = new FakeTime();
  const impatient = new Upload(receiving({ readTimeout: "5s" }), "/form", time);
  await impatient.send(HEAD);
  await impatient.sendEvery(4_000, 100 * KIBIBYTE, 20);
  assertEquals(impatient.isOver, false);
  await time.advance(5_000);
  assertEquals((await impatient.end())[0], 408);

  const patient = new Upload(receiving({ readTimeout: "2m" }), "/form", time);
  await patient.send(HEAD);
  await time.advance(110_000);
  await patient.send(2_000 * KIBIBYTE);
  await patient.send(TAIL);
  assertEquals(await patient.end(), [200, String(2_000 * KIBIBYTE)]);
});

Deno.test("A JSON body has 30 s in all, however it moves", async () => {
  using time = new FakeTime();
  const json = new Upload(receiving(), "/json", time, "application/json");
  await json.send('"');
  for (let second = 0; second < 29; second++) {
    await time.advance(1_000);
    await json.send("x".repeat(20 * KIBIBYTE));
  }
  assertEquals(json.isOver, false);
  await time.advance(1_000);
  assertEquals(json.isOver, true);
  assertEquals((await json.end())[0], 408);
});
