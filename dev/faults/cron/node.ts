// A node of a run: a process with one cron, whose time passes faster. It writes down when each run
// begins and ends.

import { stopReason } from "../../../src/base/service.ts";
import type { SharedClock } from "../../../src/base/clock.ts";
import { Crons } from "../../../src/work/cron/crons.ts";
import type { CronRun } from "../../../src/work/cron/options.ts";
import { openDurableStore } from "../../../src/store/lazy_store.ts";
import { toLocation } from "../../../src/store/location.ts";
import { Records } from "../../../src/store/records.ts";
import { Topics } from "../../../src/topics/topics.ts";
import { Random } from "../../../tests/unit/support/random.ts";
import { NodeProcess } from "../work/node.ts";
import { type CronLine, type CronPlan, HASTE, LOOK, MINUTE } from "./plan.ts";

const node = new NodeProcess<CronPlan>();
const { plan } = node;
const { origin, flaw } = plan;

const place = flaw === "lonely" ? `${plan.log}.sqlite` : plan.topics;
const topics = new Topics({ openStore: () => openDurableStore(toLocation(place)), isStoreNamed: () => true });

/** How much sooner a hasty node takes over, and how much more seldom a slow one looks. */
const [HASTY, SLOW] = [10, 20];
/** How late a lonely node is, in milliseconds of crons: the longest run of others is over then. */
const LATE = flaw === "lonely" ? 100_000 : 0;

/** The clock of the application, but faster. */
const clock: SharedClock = {
  time: () => origin + (topics.recordsTime - origin) * HASTE - LATE,
  now: () => performance.now() * HASTE * (flaw === "hasty" ? HASTY : 1),
  wall: () => Date.now() * HASTE,
  after: (ms, action) => {
    const isLook = ms === LOOK * HASTE;
    const timer = setTimeout(action, ms / HASTE * (flaw === "slow" && isLook ? SLOW : 1));
    return () => clearTimeout(timer);
  },
};

async function work({ scheduled, signal }: CronRun): Promise<void> {
  const random = new Random(plan.seed + scheduled.getTime() / 60_000);
  const note = (kind: CronLine["kind"]) => node.note({ kind, scheduled: scheduled.getTime() });
  note("begin");
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  // Most runs end before the next time is due.
  const isLong = random.oneIn(5) || flaw === "hasty";
  const timer = setTimeout(resolve, isLong ? MINUTE / 2 + random.below(MINUTE) : random.below(MINUTE / 2));
  signal.addEventListener("abort", () => {
    if (flaw === "hasty") return;
    note("aborted");
    clearTimeout(timer);
    reject(signal.reason);
  });
  await promise;
  const isFailing = random.oneIn(8);
  note(isFailing ? "failed" : "done");
  if (isFailing) throw new Error("As it was planned");
}

/** How long runs have after a stop, in milliseconds of crons. */
const GRACE = 10_000 / HASTE;

/** The topics as a hasty node sees them: it cannot find out which processes are alive. */
const withoutProcesses = {
  records: new Records({
    open: async () => await topics.storeOf(true).openRecords!(),
    watches: { isEnding: () => false, open: new Set() },
  }, "app"),
  get recordsTime() {
    return topics.recordsTime;
  },
  needRecords: () => topics.needRecords(),
};
const crons = new Crons({ topics: flaw === "hasty" ? withoutProcesses : topics, startApp: async () => {}, clock });
crons.declare("job", "* * * * *", plan.catchUp ? { catchUp: "1h" } : {}, work);
await crons.check();
// A start ends where the store does not answer for 10 s. Whatever runs the program starts it again.
while (!await topics.start().then(() => true, () => false));
if (flaw !== "idle") await crons.start({ app: null as never, state: {} });
node.note({ kind: "ready" });
await node.stopped;
const grace = setTimeout(() => crons.abort(stopReason()), GRACE);
await crons.close();
clearTimeout(grace);
await topics.close();
Deno.exit(0);
