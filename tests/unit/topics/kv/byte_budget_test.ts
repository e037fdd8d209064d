import { assertEquals, assertRejects } from "@std/assert";
import { ByteBudget } from "../../../../src/topics/kv/byte_budget.ts";

/** Things to do, which end when they are told to; and what has begun. */
class Work {
  readonly begun: string[] = [];
  readonly #ends = new Map<string, PromiseWithResolvers<void>>();

  do(name: string): () => Promise<void> {
    const end = Promise.withResolvers<void>();
    this.#ends.set(name, end);
    return () => {
      this.begun.push(name);
      return end.promise;
    };
  }

  /** Ends something; what comes of that has begun then. */
  async end(name: string): Promise<void> {
    this.#ends.get(name)!.resolve();
    await settled();
  }
}

function settled(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve));
}

Deno.test("There is room for what fits, in the order in which it came; what fits never is done alone", async () => {
  const [budget, work] = [new ByteBudget(() => 10), new Work()];
  const all = [["a", 6], ["b", 4], ["c", 11], ["d", 1]] as const;
  const done = all.map(([name, bytes]) => budget.use(bytes, work.do(name)));
  await settled();
  assertEquals(work.begun, ["a", "b"]);
  await work.end("a");
  assertEquals(work.begun, ["a", "b"]);
  await work.end("b");
  assertEquals(work.begun, ["a", "b", "c"]);
  await work.end("c");
  assertEquals(work.begun, ["a", "b", "c", "d"]);
  await work.end("d");
  await Promise.all(done);
});

Deno.test("What is larger than what there is by now is done when nothing else is, though parts were no whole numbers", async () => {
  let limit = 100;
  const [budget, work] = [new ByteBudget(() => limit), new Work()];
  const parts = [0.1, 0.2, 100 / 3, 10 / 7];
  const done = parts.map((bytes, index) => budget.use(bytes, work.do(`${index}`)));
  limit = 50;
  const large = budget.use(90, () => Promise.resolve("done"));
  for (const index of parts.keys()) await work.end(`${index}`);
  assertEquals(await large, "done");
  await Promise.all(done);
});

Deno.test("Who takes a part again comes before those who have had none", async () => {
  const [budget, work] = [new ByteBudget(() => 1), new Work()];
  const done = [
    budget.use(1, work.do("first")),
    budget.use(1, work.do("second")),
    budget.use(1, work.do("again"), { isAgain: true }),
  ];
  await work.end("first");
  await work.end("again");
  await work.end("second");
  assertEquals(work.begun, ["first", "again", "second"]);
  await Promise.all(done);
});

Deno.test("Who gives up, or has waited for long where others fail, lets those begin who come after", async () => {
  const [budget, work] = [new ByteBudget(() => 10), new Work()];
  const leaving = new AbortController();
  const first = budget.use(6, work.do("first"));
  const large = budget.use(10, work.do("large"), { signal: leaving.signal });
  const small = budget.use(1, work.do("small"));
  leaving.abort(new Error("Gone"));
  await assertRejects(() => large, Error, "Gone");
  await settled();
  assertEquals(work.begun, ["first", "small"]);
  const late = budget.use(10, work.do("late"));
  budget.failLate(new Error("Not yet"), 60_000);
  budget.failLate(new Error("Away"), 0);
  await assertRejects(() => late, Error, "Away");
  await work.end("first");
  await work.end("small");
  await Promise.all([first, small]);
});
