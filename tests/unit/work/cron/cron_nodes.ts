// Nodes of one application that share a store of records, and a clock that the test moves.

import { stopReason } from "../../../../src/base/service.ts";
import { App, type AppHandle, type LogEntry } from "@webfw/core";
import { Crons, type PlatformCron } from "../../../../src/work/cron/crons.ts";
import type { CronOptions, CronRun } from "../../../../src/work/cron/options.ts";
import type { CronReport } from "../../../../src/topics/topic_report.ts";
import { MemoryRecords } from "../../../../src/store/memory/memory_records.ts";
import { Records } from "../../../../src/store/records.ts";
import type {
  DeleteRecordOptions,
  ProcessStore,
  RecordKey,
  RecordStore,
  SetRecordOptions,
} from "../../../../src/store/record_store.ts";
import { CapturedLog } from "../../../spec/support/captured_log.ts";
import { ManualClock } from "../../support/manual_clock.ts";

/** Holds up what goes through it while it is closed. */
class Gate {
  #opened = Promise.withResolvers<void>();
  #isOpen = true;

  async pass(): Promise<void> {
    while (!this.#isOpen) await this.#opened.promise;
  }

  close(): void {
    this.#isOpen = false;
    this.#opened = Promise.withResolvers();
  }

  open(): void {
    this.#isOpen = true;
    this.#opened.resolve();
  }
}

/** The store, as one node sees it. */
class SeenStore implements RecordStore {
  readonly #store: RecordStore;
  readonly gate = new Gate();
  /** Holds up the answers to writes. */
  readonly answers = new Gate();
  /** Is called when it answers. */
  onAnswer: () => void = () => {};
  /** How many calls fail from now on. */
  failures = 0;
  /** How many answers to writes are lost from now on. */
  lostAnswers = 0;

  constructor(store: RecordStore) {
    this.#store = store;
  }

  async get(key: RecordKey) {
    await this.#enter();
    this.onAnswer();
    return await this.#store.get(key);
  }

  async set(key: RecordKey, value: string, options: SetRecordOptions<number>) {
    await this.#enter();
    const version = await this.#store.set(key, value, options);
    await this.answers.pass();
    if (version === null || this.lostAnswers === 0) return version;
    this.lostAnswers--;
    return null;
  }

  async delete(key: RecordKey, options: DeleteRecordOptions) {
    await this.#enter();
    return await this.#store.delete(key, options);
  }

  list(prefix: RecordKey) {
    return this.#store.list(prefix);
  }

  async #enter(): Promise<void> {
    await this.gate.pass();
    if (this.failures === 0) return;
    this.failures--;
    throw new Error("the store is away");
  }
}

/** A store that says which processes have ended. */
function tellingStore(name: string, ended: ReadonlySet<string>): ProcessStore {
  return {
    processName: () => Promise.resolve(name),
    hasEnded: (process) => Promise.resolve(ended.has(process)),
  };
}

/** A run of a handler on a node. */
interface SeenRun extends CronRun {
  readonly node: string;
  readonly at: string;
}

/** What a handler does in a test. */
type Work = (run: CronRun, node: TestNode) => unknown;

/** A node with one cron. */
export class TestNode {
  readonly name: string;
  readonly crons: Crons<Record<string, unknown>>;
  readonly store: SeenStore;
  /** Calls an action after so many milliseconds, if the node can act then. */
  readonly after: ManualClock["after"];
  readonly #app: AppHandle;
  readonly #timers = new Gate();
  /** How far the clock of its machine is ahead, and whether the store has told the time since. */
  #ahead = 0;
  #knowsTime = true;

  constructor(nodes: Nodes, name: string, work: Work, platform: PlatformCron | undefined) {
    this.name = name;
    this.#app = nodes.app;
    this.store = new SeenStore(nodes.records);
    const watches = { isEnding: () => false, open: new Set<{ close(): void }>() };
    const processes = () => nodes.ended ? tellingStore(name, nodes.ended) : {};
    const { time, now, after } = nodes.clock;
    this.store.onAnswer = () => this.#knowsTime = true;
    // The store tells the time.
    const known = () => time() + (this.#knowsTime ? 0 : this.#ahead);
    this.after = (ms, action) => after(ms, () => void this.#timers.pass().then(action));
    this.crons = new Crons({
      topics: {
        records: new Records({ open: () => Promise.resolve(this.store), watches, processes }, "app"),
        get recordsTime() {
          return known();
        },
        needRecords: () => {},
      },
      startApp: async () => void await this.start(),
      platform,
      clock: { time: known, now, wall: () => time() + this.#ahead, after: this.after },
    });
    this.crons.declare("job", nodes.schedule, nodes.options, (run) => {
      nodes.runs.push({ ...run, node: name, at: new Date(time()).toISOString() });
      return work(run, this);
    });
  }

  async start(): Promise<this> {
    await this.crons.check();
    await this.crons.start({ app: this.#app, state: {} });
    return this;
  }

  /** Sets the clock of its machine, and has it forget the time of the store. */
  setClock(ahead: number): this {
    this.#ahead = ahead;
    this.#knowsTime = false;
    return this;
  }

  /** Lets nothing of it go on: a process that is stopped, or has died. */
  freeze(): void {
    this.store.gate.close();
    this.#timers.close();
  }

  thaw(): void {
    this.store.gate.open();
    this.#timers.open();
  }

  async report(): Promise<CronReport> {
    return (await this.crons.report())[0]!;
  }
}

/** Some nodes that declare the same cron. */
export class Nodes {
  readonly records = new MemoryRecords();
  readonly clock: ManualClock;
  readonly schedule: string;
  readonly options: CronOptions;
  readonly runs: SeenRun[] = [];
  /** What handlers log. */
  readonly entries: LogEntry[] = [];
  readonly app: App = new App({ log: (entry) => this.entries.push(entry) });
  /** The names of nodes whose processes have ended, where the store can say so. */
  ended: Set<string> | undefined;
  readonly #nodes: TestNode[] = [];

  constructor(time: string, schedule: string, options: CronOptions = {}) {
    this.clock = new ManualClock(time);
    this.schedule = schedule;
    this.options = options;
  }

  /** Starts a node. */
  start(work?: Work, platform?: PlatformCron): Promise<TestNode> {
    return this.make(work, platform).start();
  }

  make(work?: Work, platform?: PlatformCron): TestNode {
    const node = new TestNode(this, `node ${this.#nodes.length + 1}`, work ?? (() => {}), platform);
    this.#nodes.push(node);
    return node;
  }

  /** The times that ran, as text. */
  get times(): string[] {
    return this.runs.map(({ scheduled }) => scheduled.toISOString());
  }

  /** Stops all nodes. */
  async stop(): Promise<void> {
    // Runs that have not ended are aborted.
    using _log = new CapturedLog();
    for (const node of this.#nodes) node.thaw();
    const stopped = Promise.all(this.#nodes.map(({ crons }) => {
      crons.abort(stopReason());
      return crons.close();
    }));
    await this.clock.advance(10_000);
    await stopped;
  }
}
