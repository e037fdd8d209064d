import { assert, assertEquals } from "@std/assert";
import { MovedClock } from "../../../spec/support/moved_clock.ts";
import { ServerClock } from "../../../../src/store/jetstream/server_clock.ts";

Deno.test("The clock of servers is this machine's before the first reply, and theirs after it", () => {
  const clock = new ServerClock();
  assert(Math.abs(clock.now() - Date.now()) < 1_000);
  const HOUR = 3_600_000;
  const begin = performance.now();
  clock.note(new Date(Date.now() + HOUR).toISOString(), begin);
  assert(Math.abs(clock.now() - Date.now() - HOUR) < 1_000);
  clock.note("no time", begin);
  assert(Math.abs(clock.now() - Date.now() - HOUR) < 1_000);
});

Deno.test("Each reply makes the time more exact, and one that does not fit begins anew", () => {
  const clock = new ServerClock();
  const off = () => Math.round(clock.now() - Date.now());
  // It took 10 s, so it is half of that off.
  clock.note(new Date().toISOString(), performance.now() - 10_000);
  assert(Math.abs(off() - 5_000) < 1_000);
  clock.note(new Date().toISOString(), performance.now());
  assertEquals(Math.abs(off()) < 1_000, true);
  clock.note(new Date(Date.now() - 60_000).toISOString(), performance.now());
  assert(Math.abs(off() + 60_000) < 1_000);
});

Deno.test("The time of servers goes on where somebody sets this machine's clock, and the next reply makes it certain", () => {
  const HOUR = 3_600_000;
  const clock = new ServerClock();
  const begin = performance.now();
  const time = Date.now();
  assert(!clock.isUncertain);
  clock.note(new Date(time).toISOString(), begin);
  using wall = new MovedClock();
  wall.advance(HOUR);
  assert(Math.abs(clock.now() - time) < 1_000);
  assert(clock.isUncertain);
  clock.note(new Date(time).toISOString(), begin);
  assert(!clock.isUncertain);
  assert(Math.abs(clock.now() - time) < 1_000);
});
