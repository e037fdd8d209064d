// The database of the simulation, compared with that of Deno, so that it does not promise more.

import { assertEquals } from "@std/assert";
import { SimulatedDatabase } from "../../../../dev/faults/simulation/database.ts";
import { type KvEntry, type KvKey, type KvWrite, toEngine } from "../../../../src/store/kv/engine.ts";
import { Random } from "../../support/random.ts";

const NAMES = ["log", "log ", "a", "a b", "0000", "ff", "series"];

/** Both databases, and the versions that each returned, by which a write is recognized. */
interface Pair {
  readonly own: string[];
  readonly simulated: string[];
}

Deno.test("The simulated database behaves like that of Deno, for random writes, checks and reads", async () => {
  using kv = await Deno.openKv(":memory:");
  const engine = toEngine(kv);
  const random = new Random(1);
  const database = new SimulatedDatabase(new Random(2));
  const versions: Pair = { own: [], simulated: [] };
  const keyOf = (): KvKey => ["webfw", ...random.list(2, () => random.pick(NAMES)), random.pick(NAMES)];
  let refused = 0;
  for (let step = 0; step < 2_000; step++) {
    const check = random.below(3) > 0 ? undefined : keyOf();
    // A check that holds, one of another write, or none.
    const checked = check &&
      random.pick([(await engine.get([check]))[0]?.version ?? null, versions.own.at(-1) ?? null, null]);
    const base: KvWrite = {
      sets: random.list(3, () => ({ key: keyOf(), value: new Uint8Array([step % 256]) })),
      deletes: random.list(1, keyOf),
      ...random.oneIn(3) && { append: { prefix: ["webfw", random.pick(NAMES)], value: new Uint8Array([1]) } },
    };
    const write = (side: keyof Pair): KvWrite => {
      const version = checked ? versions[side][versions.own.indexOf(checked)]! : checked ?? null;
      return check ? { ...base, checks: [{ key: check, version }] } : base;
    };
    const [own, simulated] = [await engine.write(write("own")), database.write(write("simulated"))];
    assertEquals(own === undefined, simulated === undefined, `step ${step}`);
    if (own === undefined || simulated === undefined) refused++;
    else {
      versions.own.push(own);
      versions.simulated.push(simulated);
    }
    const [from, to] = [keyOf(), keyOf()].toSorted((a, b) => a.join("\0") < b.join("\0") ? -1 : 1) as [KvKey, KvKey];
    const keys = random.list(10, keyOf);
    const limit = 1 + random.below(5);
    const shown = (entries: readonly (KvEntry | undefined)[], side: keyof Pair) =>
      entries.map((entry) => {
        const place = (text: string) => versions[side].includes(text) ? `write ${versions[side].indexOf(text)}` : text;
        return entry && { key: entry.key.map(place), value: [...entry.value], write: place(entry.version) };
      });
    assertEquals(shown(database.get(keys), "simulated"), shown(await engine.get(keys), "own"));
    assertEquals(shown(database.list(from, to, limit), "simulated"), shown(await engine.list(from, to, limit), "own"));
  }
  assertEquals([refused > 50, versions.own.length > 1_000], [true, true]);
});
