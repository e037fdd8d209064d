// Section 3 of the contract of work, on machines whose clocks are wrong: the time is that of the store,
// which tells it with its answers.

import { assert, assertEquals } from "@std/assert";
import { CapturedLog } from "../../../spec/support/captured_log.ts";
import { Nodes } from "./cron_nodes.ts";

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

for (const [direction, ahead] of [["ahead", 10 * HOUR], ["behind", -10 * HOUR]] as const) {
  Deno.test(`each time runs on one node, also where the clock of a machine is set ${direction}`, async () => {
    using log = new CapturedLog();
    const nodes = new Nodes("2026-01-01T00:00:30Z", "* * * * *", { catchUp: "1h" });
    const node = await nodes.start();
    await nodes.start();
    await nodes.clock.advance(MINUTE);
    node.setClock(ahead);
    await nodes.clock.advance(2 * MINUTE);
    node.setClock(0);
    await nodes.clock.advance(MINUTE);
    assertEquals(nodes.times, [1, 2, 3, 4].map((minute) => `2026-01-01T00:0${minute}:00.000Z`));
    assert(!log.text.includes("clock"), log.text);
    await nodes.stop();
  });

  Deno.test(`each time runs on one node, also where a machine begins with a clock ${direction}`, async () => {
    using log = new CapturedLog();
    const nodes = new Nodes("2026-01-01T00:00:30Z", "* * * * *", { catchUp: "1h" });
    await nodes.make().setClock(ahead).start();
    await nodes.start();
    await nodes.clock.advance(2 * MINUTE);
    assertEquals(nodes.times, [1, 2].map((minute) => `2026-01-01T00:0${minute}:00.000Z`));
    assert(!log.text.includes("clock"), log.text);
    await nodes.stop();
  });
}
