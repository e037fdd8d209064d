// Requests that hang or fail: the errors of the caller and the log entries.

import { assertEquals, assertRejects } from "@std/assert";
import { inVirtualTime } from "../../../../dev/faults/simulation/virtual_time.ts";
import { CannotOpenError } from "../../../../src/store/topic_store.ts";
import { toConnection } from "../../../../src/store/kv/kv_store.ts";
import type { KvConnection, KvEngine } from "../../../../src/store/kv/engine.ts";
import { CapturedLog } from "../../../spec/support/captured_log.ts";
import { Random } from "../../support/random.ts";

const ENGINE = { close: () => {} } as Partial<KvEngine> as KvEngine;

/** Longer than any test. */
const LONG = 600_000;

function never(): Promise<never> {
  return new Promise(() => {});
}

/** Keeps the process alive as a request does. Timeouts do not. */
function stayAlive(): Disposable {
  const timer = setInterval(() => {}, LONG);
  return { [Symbol.dispose]: () => clearInterval(timer) };
}

/** A connection that never repeats a request, and how often it has opened the database. */
function connect(requestTimeout: number): { connection: KvConnection; opened: () => number } {
  let opened = 0;
  const open = () => (opened++, Promise.resolve(ENGINE));
  const connection = toConnection({ name: "a database", open, requestTimeout, retryTimeout: -1, isLogged: false });
  return { connection, opened: () => opened };
}

Deno.test("An answer in time is returned, also an error", async () => {
  const { connection, opened } = connect(LONG);
  assertEquals(await connection.use(() => Promise.resolve(1)), 1);
  await assertRejects(() => connection.use(() => Promise.reject(new Error("Refused"))), Error, "Refused");
  assertEquals(opened(), 1);
  await connection.close();
});

Deno.test("A request without an answer in time is abandoned, and the database is opened again", async () => {
  using _ = stayAlive();
  const { connection, opened } = connect(20);
  const slow = Promise.withResolvers<string>();
  const first = assertRejects(() => connection.use(() => slow.promise), Error, "No answer within 20 ms");
  assertEquals(await connection.use(() => Promise.resolve("in time")), "in time");
  await first;
  slow.resolve("too late");
  await assertRejects(() => connection.use(never), Error, "No answer within 20 ms");
  assertEquals(opened(), 2);
  await connection.close();
});

Deno.test("A request that its caller abandons has no timeout", async () => {
  await inVirtualTime(new Random(1), async () => {
    const { connection, opened } = connect(20);
    const controller = new AbortController();
    const abandoned = assertRejects(() => connection.use(never, controller.signal), Error, "Enough");
    await Promise.resolve();
    controller.abort(new Error("Enough"));
    await abandoned;
    await new Promise((resolve) => setTimeout(resolve, 40));
    await connection.use(() => Promise.resolve());
    assertEquals(opened(), 1);
    await connection.close();
  });
});

Deno.test("A connection is closed when its requests have ended, or after the timeout of a request", async () => {
  using _ = stayAlive();
  const { connection } = connect(LONG);
  const slow = Promise.withResolvers<string>();
  const answer = connection.use(() => slow.promise);
  let hasClosed = false;
  const closing = connection.close().then(() => hasClosed = true);
  await Promise.resolve();
  assertEquals(hasClosed, false);
  slow.resolve("an answer");
  assertEquals(await answer, "an answer");
  await closing;

  const { connection: hanging } = connect(20);
  const hung = assertRejects(() => hanging.use(never), Error);
  await hanging.close();
  await hung;
});

Deno.test("Only for a database that was never open, the error says that nothing was sent", async () => {
  const refused = new CannotOpenError("It refuses the token");
  const answers = [Promise.reject(refused), Promise.resolve(ENGINE), Promise.reject(refused)];
  for (const answer of answers) answer.catch(() => {});
  const connection = toConnection({ name: "a database", open: () => answers.shift()!, retryTimeout: -1 });
  const ask = () => connection.use(() => Promise.resolve("an answer"));
  await assertRejects(ask, CannotOpenError, "It refuses the token");
  assertEquals(await ask(), "an answer");
  connection.reopen();
  // Something may have been written before.
  const error = await assertRejects(ask, Error, "It refuses the token");
  assertEquals([error instanceof CannotOpenError, error.cause], [false, refused]);
  await connection.close();
});

Deno.test("A refusal of a database that was open before is retried: its proxy may be restarting", async () => {
  const answers = [
    Promise.resolve(ENGINE),
    Promise.reject(new CannotOpenError("It refuses the token")),
    Promise.resolve(ENGINE),
  ];
  for (const answer of answers) answer.catch(() => {});
  const connection = toConnection({ name: "a database", open: () => answers.shift()! });
  const ask = () => connection.use(() => Promise.resolve("an answer"));
  await ask();
  connection.reopen();
  assertEquals(await ask(), "an answer");
  await connection.close();
});

Deno.test("A database that can be read but not written is logged once, and once when it can be written again", async () => {
  using captured = new CapturedLog();
  const connection = toConnection({ name: "a file", open: () => Promise.resolve(ENGINE) });
  const full = new Error("database or disk is full");
  const read = () => connection.use(() => Promise.resolve());
  let refusals = 3;
  const write = async () => {
    await read();
    if (refusals-- > 0) throw full;
  };
  await connection.use(write, undefined, "write");
  await read();
  assertEquals(captured.lines.map((line) => line.replace(/^\S+ /, "")), [
    'WARN The store of topics does not answer and is retried store="a file" reason="database or disk is full"',
    'INFO The store of topics answers again store="a file"',
  ]);
  await connection.close();
});

Deno.test("A database with a failed write and no later one is logged when it answers, and when it goes away again", async () => {
  using captured = new CapturedLog();
  await inVirtualTime(new Random(1), async () => {
    const connection = toConnection({ name: "a file", open: () => Promise.resolve(ENGINE) });
    const ask = (failures: number) => async () => {
      if (failures-- > 0) throw new Error("away");
    };
    await assertRejects(() => connection.use(ask(Infinity), undefined, "write"));
    await connection.use(ask(0));
    await new Promise((resolve) => setTimeout(resolve, 61_000));
    await connection.use(ask(0));
    await connection.use(ask(3));
    await connection.close();
  });
  const levels = captured.lines.map((line) => line.split(" ")[1]);
  assertEquals(levels, ["WARN", "INFO", "WARN", "INFO"]);
});

Deno.test("A request that fails after all attempts has an error of one line that says why", async () => {
  const open = () => Promise.reject(new Error("disk I/O error\n\nStack backtrace:\n   0: <unknown>"));
  const connection = toConnection({ name: "a file", open, retryTimeout: -1, isLogged: false });
  const error = await assertRejects(() => connection.use(() => Promise.resolve()), Error);
  const message = 'Cannot use the store of topics "a file": it did not answer for 0 s, disk I/O error';
  assertEquals(error.message, message);
  await connection.close();
});

Deno.test("No request is sent before the database's time is certain", async () => {
  const asked: string[] = [];
  let isUncertain = true;
  const engine = {
    now: () => 5,
    refreshClock: () => {
      if (!isUncertain) return undefined;
      isUncertain = false;
      return Promise.resolve().then(() => void asked.push("time"));
    },
    get: () => (asked.push("get"), Promise.resolve([])),
    close: () => {},
  } as Partial<KvEngine> as KvEngine;
  const connection = toConnection({ name: "one with a clock", open: () => Promise.resolve(engine) });
  for (let round = 0; round < 2; round++) await connection.use((engine) => engine.get([]));
  assertEquals([asked, connection.now()], [["time", "get", "get"], 5]);
  await connection.close();
});

/** A connection whose database refuses connections until a time. */
function connectAt(time: number): KvConnection {
  const engine = { ...ENGINE, get: () => Promise.resolve([]) } as unknown as KvEngine;
  const open = () => Date.now() < time ? Promise.reject(new Error("Connection refused")) : Promise.resolve(engine);
  return toConnection({ name: "a database", open });
}

Deno.test("A start waits 10 s for a database, and no longer", async () => {
  using log = new CapturedLog();
  await inVirtualTime(new Random(1), async () => {
    const begin = Date.now();
    const late = connectAt(begin + 9_000);
    await late.open();
    assertEquals(Date.now() - begin < 9_600, true);
    await late.close();
    const never = connectAt(Infinity);
    const beginOfNever = Date.now();
    await assertRejects(
      () => never.open(),
      CannotOpenError,
      'Cannot open the store of topics "a database": nothing has answered there for 10 s (Connection refused), check the address',
    );
    assertEquals(Date.now() - beginOfNever, 10_000);
    await never.close();
  });
  const [away, back, again] = log.lines;
  assertEquals([away, again].map((line) => line?.includes("and is retried")), [true, true]);
  assertEquals(back?.includes("answers again"), true);
});

Deno.test("A start that waits for a database with no answer ends after 10 s, too, and when it is closed", async () => {
  using _log = new CapturedLog();
  await inVirtualTime(new Random(1), async () => {
    const silent = () => toConnection({ name: "a database", open: never });
    const begin = Date.now();
    await assertRejects(() => silent().open(), CannotOpenError, "(No answer within 3000 ms)");
    assertEquals(Date.now() - begin, 10_000);
    const closed = silent();
    const opening = assertRejects(() => closed.open(), Error, "it is closed");
    await closed.close();
    await opening;
  });
});
