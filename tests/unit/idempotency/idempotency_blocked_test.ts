// "A lease that ran out while its process lives (a handler that blocks its thread) is no death where
// the store can tell", for requests with an `Idempotency-Key`.

import { assertEquals, assertStringIncludes } from "@std/assert";
import { App } from "@webfw/core";
import { inVirtualTime } from "../../../dev/faults/simulation/virtual_time.ts";
import { MemoryRecords } from "../../../src/store/memory/memory_records.ts";
import { Random } from "../support/random.ts";
import { CapturedLog } from "../../spec/support/captured_log.ts";
import { ChildProgram, CORE } from "../../spec/support/child_program.ts";
import { MovedClock } from "../../spec/support/moved_clock.ts";
import { TemporaryFolder } from "../../spec/support/temporary_folder.ts";
// Loaded before time is counted.
import "../../../src/idempotency/runner.ts";
import "../../../src/idempotency/fingerprint.ts";

const rest = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms));

function send(app: App, path = "/"): Promise<Response> {
  return app.fetch(new Request(`http://localhost${path}`, { method: "POST", headers: { "idempotency-key": "a" } }));
}

/** The status, whether it is a repetition, and when to try again. */
async function outcomeOf(sent: Promise<Response>): Promise<[status: number, replayed: boolean, after: string | null]> {
  const { status, headers, body } = await sent;
  await body?.cancel();
  return [status, headers.has("idempotency-replayed"), headers.get("retry-after")];
}

const REFUSED: [number, boolean, string] = [409, false, "1"];
const RAN: [number, boolean, null] = [200, false, null];
const REPLAYED: [number, boolean, null] = [200, true, null];

/** The records, as one node reaches them. */
class NodeRecords extends MemoryRecords {
  readonly #shared: MemoryRecords;
  isAway = false;

  constructor(shared: MemoryRecords) {
    super();
    this.#shared = shared;
  }

  override get(...args: Parameters<MemoryRecords["get"]>) {
    return this.#enter().get(...args);
  }

  override set(...args: Parameters<MemoryRecords["set"]>) {
    return this.#enter().set(...args);
  }

  override delete(...args: Parameters<MemoryRecords["delete"]>) {
    return this.#enter().delete(...args);
  }

  #enter(): MemoryRecords {
    if (this.isAway) throw new Error("the store is away");
    return this.#shared;
  }
}

/** Nodes that share records. `life` has what is known of the processes: true means ended. */
class Nodes {
  readonly life: Record<string, boolean | undefined> = {};
  /** The nodes that ran the handler. */
  readonly ran: string[] = [];
  readonly #shared = new MemoryRecords();
  readonly #apps: App[] = [];

  /** @param isTold Whether the store of this node can say which processes have ended. */
  start(name: string, handler: () => unknown = () => {}, isTold = true) {
    const records = new NodeRecords(this.#shared);
    if (isTold) this.life[name] = false;
    const store = {
      append() {},
      openRecords: () => Promise.resolve(records),
      close: () => Promise.resolve(),
      ...isTold && {
        processName: () => Promise.resolve(name),
        hasEnded: (process: string) => Promise.resolve(this.life[process]),
      },
    };
    const app = new App({ topics: store as never });
    app.post("/", { idempotent: "24h" }, async () => {
      this.ran.push(name);
      await handler();
      return name;
    });
    this.#apps.push(app);
    return { app, records };
  }

  /** Starts two nodes, and a request that the first one answers when its gate is open. */
  async startRequest(isTold = true) {
    const gate = Promise.withResolvers<void>();
    const one = this.start("one", () => gate.promise, isTold);
    const other = this.start("other", () => {}, isTold);
    const first = send(one.app);
    await rest(1);
    return { gate, one, other, first };
  }

  async stop(): Promise<void> {
    for (const app of this.#apps) await app.stop();
  }
}

type RunningRequest = Awaited<ReturnType<Nodes["startRequest"]>>;

/** Runs a test in virtual time. The log takes the warnings of nodes that cannot renew. */
function test(name: string, body: (nodes: Nodes, log: CapturedLog) => Promise<void>): void {
  Deno.test(name, async () => {
    using log = new CapturedLog();
    await inVirtualTime(new Random(1), async () => {
      const nodes = new Nodes();
      await body(nodes, log);
      await nodes.stop();
    });
  });
}

test("While the process lives, a repetition gets 409, however long its thread is blocked", async (nodes) => {
  const { gate, one, other, first } = await nodes.startRequest();
  // Nothing of the node goes on, so it renews nothing.
  one.records.isAway = true;
  for (let time = 0; time < 300_000; time += 10_000) {
    assertEquals(await outcomeOf(send(other.app)), REFUSED, `${time}`);
    await rest(10_000);
  }
  one.records.isAway = false;
  gate.resolve();
  assertEquals(await outcomeOf(first), RAN);
  assertEquals(await outcomeOf(send(other.app)), REPLAYED);
  assertEquals(nodes.ran, ["one"]);
});

test("Where the process has ended, the key is free at once, for one of those that repeat", async (nodes) => {
  const gate = Promise.withResolvers<void>();
  const one = nodes.start("one", () => gate.promise);
  const others = ["other", "third"].map((name) => nodes.start(name, () => rest(10)));
  const first = send(one.app);
  await rest(1);
  assertEquals(await outcomeOf(send(others[0]!.app)), REFUSED);
  one.records.isAway = true;
  nodes.life.one = true;
  const outcomes = await Promise.all(others.map(({ app }) => outcomeOf(send(app))));
  assertEquals(outcomes.toSorted(([a], [b]) => a - b), [RAN, REFUSED]);
  assertEquals(nodes.ran.length, 2);
  gate.resolve();
  await (await first).body?.cancel();
  // What is late does not replace the reply of the other one.
  assertEquals(await (await send(others[0]!.app)).json(), nodes.ran[1]!);
});

/** The other node refuses for the lease of 30 s, and then runs. */
async function runsAfterLease({ ran }: Nodes, { gate, other, first }: RunningRequest): Promise<void> {
  await rest(29_000);
  assertEquals(await outcomeOf(send(other.app)), REFUSED);
  await rest(1_000);
  assertEquals(await outcomeOf(send(other.app)), RAN);
  gate.resolve();
  await (await first).body?.cancel();
  assertEquals(ran, ["one", "other"]);
}

test("Where nothing is known of the process, the lease counts from the first repetition on", async (nodes) => {
  const running = await nodes.startRequest();
  const { one, other } = running;
  nodes.life.one = undefined;
  // One that renews its lease keeps its key.
  for (let time = 0; time < 100_000; time += 5_000) {
    assertEquals(await outcomeOf(send(other.app)), REFUSED, `${time}`);
    await rest(5_000);
  }
  one.records.isAway = true;
  await rest(100_000);
  assertEquals(await outcomeOf(send(other.app)), REFUSED);
  await runsAfterLease(nodes, running);
});

test("Where the store cannot tell, the lease counts", async (nodes) => {
  const running = await nodes.startRequest(false);
  running.one.records.isAway = true;
  await runsAfterLease(nodes, running);
});

test(
  "A key that could not be given back is free in its own process, which knows that nothing runs",
  async (nodes, log) => {
    let failures = 1;
    const one = nodes.start("one", () => {
      if (failures-- <= 0) return;
      one.records.isAway = true;
      throw new Error("the effect failed");
    });
    assertEquals((await outcomeOf(send(one.app)))[0], 500);
    one.records.isAway = false;
    assertEquals(await outcomeOf(send(one.app)), RAN);
    assertStringIncludes(log.text, "could not be kept: it may run again");
  },
);

test("A request that others gave a lease meanwhile gives its key back when it fails", async (nodes) => {
  const { gate, other, first } = await nodes.startRequest();
  nodes.life.one = undefined;
  assertEquals(await outcomeOf(send(other.app)), REFUSED);
  gate.reject(new Error("the effect failed"));
  assertEquals((await outcomeOf(first))[0], 500);
  assertEquals(await outcomeOf(send(other.app)), RAN);
});

/** A program whose handler blocks its thread until a file is there. */
async function startBlocked(topics: string, go: string): Promise<ChildProgram> {
  const program = await ChildProgram.start(
    `
    import { App } from ${JSON.stringify(CORE)};
    const app = new App({ topics: ${JSON.stringify(topics)} });
    const isThere = () => {
      try { return Deno.statSync(${JSON.stringify(go)}).isFile; } catch { return false; }
    };
    app.post("/", { idempotent: "24h" }, async () => {
      console.log("blocked");
      const pause = new Int32Array(new SharedArrayBuffer(4));
      while (!isThere()) Atomics.wait(pause, 0, 0, 20);
      return "first";
    });
    const headers = { "idempotency-key": "a" };
    await app.fetch(new Request("http://localhost/", { method: "POST", headers }));
    console.log("replied");
    await app.stop();
  `,
    { command: ["run", "--unstable-kv", "--no-check"] },
  );
  await program.printed("blocked");
  return program;
}

Deno.test("On a file, a process whose thread is blocked for longer than the lease keeps its key", async () => {
  await using folder = await TemporaryFolder.make();
  const [file, go] = [folder.within("records.sqlite"), folder.within("go")];
  await using blocked = await startBlocked(file, go);
  const app = new App({ topics: file });
  app.post("/", { idempotent: "24h" }, async () => "second");
  using clock = new MovedClock();
  clock.advance(60_000);
  assertEquals(await outcomeOf(send(app)), REFUSED);
  await Deno.writeTextFile(go, "");
  await blocked.printed("replied");
  assertEquals(await (await send(app)).json(), "first");
  await app.stop();
});

Deno.test("On a file, the key of a process that is killed is free at once", async () => {
  await using folder = await TemporaryFolder.make();
  const file = folder.within("records.sqlite");
  await using blocked = await startBlocked(file, folder.within("go"));
  const app = new App({ topics: file });
  app.post("/", { idempotent: "24h" }, async () => "second");
  assertEquals(await outcomeOf(send(app)), REFUSED);
  blocked.signal("SIGKILL");
  await blocked.end();
  assertEquals(await (await send(app)).json(), "second");
  await app.stop();
});
