// A short form of `deno task fault simulated`.

import { assert, assertEquals } from "@std/assert";
import { simulate } from "../../dev/faults/simulation/simulation.ts";
import { Random } from "../unit/support/random.ts";

Deno.test("Simulated nodes lose nothing, store nothing twice, and keep the order, whatever happens to their requests", async () => {
  for (let seed = 1; seed <= 20; seed++) {
    const { faults, acknowledged } = await simulate(new Random(seed));
    assertEquals(faults, [], `seed ${seed}`);
    assert(acknowledged > 0);
  }
});

Deno.test("A simulated run is the same each time", async () => {
  const [one, other] = [await simulate(new Random(3)), await simulate(new Random(3))];
  assertEquals(one, other);
});

Deno.test("Where writes check nothing, simulated nodes store messages twice", async () => {
  const { faults } = await simulate(new Random(3), { isBlind: true });
  assert(faults.some((fault) => fault.includes("is there twice")));
});
