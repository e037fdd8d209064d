/** Runs one cron on this node. One of all nodes claims each run in the record they share. */
import type { SharedClock } from "../../base/clock.ts";
import { type Service, stopReason } from "../../base/service.ts";
import type { AppHandle } from "../../http/app_handle.ts";
import { errorText } from "../../log/log_text.ts";
import { describeError, log, loggerOf, makeLog } from "../../log/log.ts";
import { type Tracing, tracing } from "../../log/telemetry.ts";
import { Lease } from "../../store/lease.ts";
import { hasProcessEnded, processNameOf, type Records, recordsOf } from "../../store/records.ts";
import type { CronHandler, DeclaredCron } from "./options.ts";
import type { StoredRecord } from "../../store/record_store.ts";
import { CRON_SPACE, type CronRecord, MAX_AHEAD, MAX_RECENT, newRecord, type RunningCron } from "./record.ts";
import { CronTimes } from "./times.ts";

/** How long a crashed node holds a run, in milliseconds. */
const LEASE = 30_000;
/** A node may run a time so late if it was up when the time was due. */
const LATE = 2 * LEASE;
/** The pause after an error of the store. */
const RETRY = 5_000;
/** The wall clock may be set, so a node sleeps no longer than this. */
const LONGEST_SLEEP = 60_000;
/** If the clocks of this machine drift apart further, the time of the store is read. */
const TOLERANCE = 2_000;
/** How long an aborted run has to end. */
const ABORTED_RUN_TIMEOUT = 1_000;
/** A close waits so long after an abort: for the handler and one write. */
const ABORTED_CLOSE_TIMEOUT = 2_000;

export interface CronContext {
  readonly app: AppHandle;
  readonly state: unknown;
  readonly records: Records;
  readonly clock: SharedClock;
}

interface OwnRun {
  readonly running: RunningCron;
  readonly controller: AbortController;
  cancelTimeout: () => void;
  outcome?: { readonly at: number; readonly failed: boolean; readonly error?: unknown };
}

type Entry = StoredRecord<CronRecord>;

export class CronJob implements Service<void> {
  readonly #cron: DeclaredCron;
  readonly #times: CronTimes;
  readonly #context: CronContext;
  readonly #records: Records;
  readonly #lease: Lease<CronRecord>;
  readonly #key: readonly string[];
  readonly #node = crypto.randomUUID();
  /** The name of the process, if the store can detect its end. */
  #process: string | undefined;
  readonly #madeAt: number;
  /** The node was up from this time on. */
  #since = Infinity;
  /** For how long before its creation the node counts as up, in milliseconds. */
  #upBefore = 0;
  /** Between the clocks of this machine, when the time of the store was read. */
  #skew: number | undefined;
  /** The time that was due at the last poll. */
  #due: number | undefined;
  /** The newest time that was due while this node was up. */
  #noticed: number | undefined;
  /** The last watermark for which "the clock is behind" was logged. */
  #awaited: number | undefined;
  /** The newest time for which "missed" was logged. */
  #missed: number | undefined;
  /** Whether the record was read since the last time was due. */
  #isSettled = false;
  #isElsewhere = false;
  #run: OwnRun | undefined;
  #isDraining = false;
  #isClosed = false;
  #hasFailed = false;
  #wake: () => void = () => {};
  #loop: Promise<void> | undefined;
  readonly #timedOut = Promise.withResolvers<void>();
  #cancelTimeout: (() => void) | undefined;

  /** @throws {TypeError} If the schedule has no next time. */
  constructor(cron: DeclaredCron, context: CronContext) {
    this.#cron = cron;
    this.#times = new CronTimes(cron);
    this.#context = context;
    this.#key = [cron.name];
    this.#madeAt = context.clock.now();
    const records = this.#records = recordsOf(context.records, CRON_SPACE);
    const write = (value: CronRecord, expect: string | null) => records.set(this.#key, value, { expect });
    const slot = { write, delete: (expect: string) => records.delete(this.#key, { expect }) };
    this.#lease = new Lease(slot, LEASE, context.clock);
  }

  /** Ends when nothing is due or runs. The platform calls this, perhaps late. */
  async runDue(): Promise<void> {
    this.#upBefore = LATE;
    await this.#work(true);
  }

  start(): Promise<void> {
    this.#loop = this.#work(false);
    return Promise.resolve();
  }

  drain(): void {
    this.#isDraining = true;
    this.#wake();
  }

  /** Gives the run back if it does not end soon. */
  abort(reason: DOMException): void {
    if (this.#cancelTimeout) return;
    this.drain();
    const { clock } = this.#context;
    this.#cancelTimeout = clock.after(ABORTED_CLOSE_TIMEOUT, () => {
      this.#isClosed = true;
      this.#lease.unwatch();
      this.#wake();
      this.#timedOut.resolve();
    });
    const run = this.#run;
    if (!run || run.outcome) return;
    this.#log("warn", "A cron did not end in the grace period: its signal is aborted", run.running.scheduled);
    run.controller.abort(reason);
    run.cancelTimeout = clock.after(ABORTED_RUN_TIMEOUT, () => this.#settle(run, { failed: true }));
  }

  async close(): Promise<void> {
    this.drain();
    await Promise.race([this.#loop, this.#timedOut.promise]);
    this.#cancelTimeout?.();
  }

  /** `isOnce`: it ends when nothing is due and nothing runs. */
  async #work(isOnce: boolean): Promise<void> {
    this.#process = await processNameOf(this.#records);
    while (!this.#isClosed && (this.#run || !this.#isDraining)) {
      const wait = await this.#tryStep();
      const isIdle = !this.#run && !this.#isElsewhere && this.#isSettled && wait > 0;
      if (this.#isClosed || (isIdle && (isOnce || this.#isDraining))) return;
      if (wait > 0) await this.#sleep(Math.min(wait, LONGEST_SLEEP));
    }
  }

  async #sleep(ms: number): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#wake = resolve;
    const cancel = this.#context.clock.after(ms, resolve);
    const { outcome } = this.#run ?? {};
    if (outcome || this.#isClosed || (this.#isDraining && !this.#run)) resolve();
    await promise;
    cancel();
  }

  /** Returns the pause before the next step, in milliseconds. */
  async #tryStep(): Promise<number> {
    try {
      const wait = await this.#step();
      this.#hasFailed = false;
      return wait;
    } catch (error) {
      if (!this.#hasFailed) {
        const fields = { error: describeError(error) };
        this.#log("error", "A cron cannot use the records and will retry", undefined, fields);
      }
      this.#hasFailed = true;
      return RETRY;
    }
  }

  async #step(): Promise<number> {
    await this.#learnTime();
    const now = this.#context.clock.time();
    // The clock may have been set back.
    this.#since = Math.min(this.#since, now);
    if (this.#due !== undefined && this.#due > now) {
      this.#due = undefined;
      this.#isSettled = false;
    }
    const due = this.#times.latest(this.#since, now);
    if (due !== undefined && due !== this.#due) {
      this.#due = due;
      // After a sleep of the machine a time may be long due: `catchUp` decides.
      this.#isSettled = false;
      if (now - due <= LATE) this.#noticed = due;
    }
    const entry = this.#isSettled && !this.#run && !this.#isElsewhere ? undefined : await this.#read(now);
    if (entry) {
      if (this.#run) return await this.#keep(this.#run, entry, now);
      if (this.#isDraining) return 1;
      const wait = await this.#poll(entry, now);
      if (wait !== undefined) return wait;
      this.#isSettled = true;
    }
    return Math.max(1, this.#times.next(now) - now);
  }

  /** Reads the time of the store: at first, after the wall clock was set, after a sleep. */
  async #learnTime(): Promise<void> {
    const { clock } = this.#context;
    const skew = clock.wall() - clock.now();
    if (this.#skew !== undefined && Math.abs(skew - this.#skew) <= TOLERANCE) return;
    await this.#records.get(this.#key);
    if (this.#skew === undefined) this.#since = clock.time() - (clock.now() - this.#madeAt) - this.#upBefore;
    this.#skew = skew;
  }

  async #read(now: number): Promise<Entry> {
    const entry = await this.#records.get<CronRecord>(this.#key);
    if (entry && (entry.value.watermark <= now + MAX_AHEAD || entry.value.run)) {
      this.#checkWatermark(entry.value.watermark, now);
      return entry;
    }
    if (entry) this.#log("warn", "The clock was set back: a cron begins again");
    const value = entry
      ? { ...entry.value, watermark: Math.min(now, (this.#noticed ?? now) - 1) }
      : newRecord(this.#since);
    const version = await this.#records.set(this.#key, value, { expect: entry?.version ?? null });
    return version === null ? await this.#read(now) : { value, version };
  }

  /** The clocks of nodes may differ a little, so a watermark somewhat ahead is normal. */
  #checkWatermark(watermark: number, now: number): void {
    if (watermark <= now + LATE || watermark === this.#awaited) return;
    this.#awaited = watermark;
    const fields = { last: isoTime(watermark) };
    this.#log("warn", "The clock was set back: a cron waits until it is past its last time", undefined, fields);
  }

  /** Claims what is due. Returns the pause before the next poll; undefined if none is due. */
  async #poll(entry: Entry, now: number): Promise<number | undefined> {
    const { watermark, run } = entry.value;
    const due = this.#times.latest(watermark, now);
    if (!run) {
      this.#isElsewhere = false;
      if (due === undefined) return undefined;
      if (this.#mayRun(due, now)) return await this.#claim(entry, due);
      if (now - due > LATE && due !== this.#missed) {
        this.#log("warn", "A scheduled cron run was missed", due);
        this.#missed = due;
      }
      return undefined;
    }
    if (run.node === this.#node) return await this.#resume(entry, run);
    this.#isElsewhere = true;
    if (run.node !== "" && !await this.#isGone(entry.version, run)) return this.#lease.pollInterval;
    // The next time may be due meanwhile: it replaces the run that was interrupted.
    if (due === undefined || this.#mayRun(due, now)) return await this.#claim(entry, due ?? run.scheduled);
    this.#log("warn", "An interrupted cron run is too late to run again", run.scheduled);
    await this.#lease.write({ ...entry.value, run: undefined }, entry.version);
    this.#isElsewhere = false;
    return 0;
  }

  #mayRun(due: number, now: number): boolean {
    return now - due < this.#cron.catchUp || due === this.#noticed;
  }

  /**
   * The node of a run has crashed: its process has ended. The lease counts only where the store
   * knows no processes, since a handler that blocks its thread renews nothing.
   */
  async #isGone(version: string, { process }: RunningCron): Promise<boolean> {
    const hasExpired = this.#lease.hasExpired(version);
    const hasEnded = process === undefined ? undefined : await hasProcessEnded(this.#records, process);
    return hasEnded ?? hasExpired;
  }

  async #claim(entry: Entry, scheduled: number): Promise<number> {
    const running: RunningCron = {
      ...{ scheduled, began: this.#context.clock.time(), node: this.#node },
      ...(this.#process !== undefined && { process: this.#process }),
    };
    const watermark = Math.max(entry.value.watermark, scheduled);
    const isOwn = await this.#lease.write({ ...entry.value, watermark, run: running }, entry.version);
    return isOwn ? this.#start(running) : 0;
  }

  /** Begins a run whose claim was written, though its reply was lost. */
  async #resume(entry: Entry, run: RunningCron): Promise<number> {
    return await this.#lease.write(entry.value, entry.version) ? this.#start(run) : 0;
  }

  #start(running: RunningCron): number {
    this.#isElsewhere = false;
    const run: OwnRun = { running, controller: new AbortController(), cancelTimeout: () => {} };
    this.#run = run;
    // Where others know that this process lives, the lease does not count. After a close nothing
    // would end the watch.
    if (running.process === undefined && !this.#isClosed) this.#lease.watch(() => this.#abortLost(run));
    // A stop may have come before the reply of the store.
    if (!this.#isDraining) void this.#handle(run);
    else {
      run.controller.abort(stopReason());
      this.#settle(run, { failed: true });
    }
    return 1;
  }

  async #handle(run: OwnRun): Promise<void> {
    const { app, state } = this.#context;
    const { controller: { signal }, running: { scheduled } } = run;
    const handle = () => callHandler(this.#cron, { scheduled, signal, app, state });
    try {
      await (tracing ? this.#inSpan(tracing, scheduled, handle) : handle());
      this.#settle(run, { failed: false });
    } catch (error) {
      this.#settle(run, { failed: true, error });
    }
  }

  #inSpan(tracing: Tracing, scheduled: number, handle: () => Promise<void>): Promise<void> {
    const { name } = this.#cron;
    const attributes = { "webfw.cron.name": name, "webfw.cron.scheduled": isoTime(scheduled) };
    return tracing.run(`cron ${name}`, { attributes, isRoot: true }, handle);
  }

  #settle(run: OwnRun, how: { readonly failed: boolean; readonly error?: unknown }): void {
    if (run.outcome) return;
    run.cancelTimeout();
    run.outcome = { at: this.#context.clock.time(), ...how };
    if (how.failed && !run.controller.signal.aborted) {
      this.#log("error", "A cron failed", run.running.scheduled, { error: describeError(how.error) });
    }
    this.#wake();
  }

  #abortLost(run: OwnRun): void {
    if (run.outcome || run.controller.signal.aborted) return;
    const message = "A cron stops its run: the lease could not be renewed, and another node may take it over";
    this.#log("warn", message, run.running.scheduled);
    run.controller.abort(new DOMException("The lease of the run could not be renewed", "AbortError"));
  }

  /** Renews the lease of a run, skips what is due meanwhile, and writes the outcome. */
  async #keep(run: OwnRun, entry: Entry, now: number): Promise<number> {
    const { value } = entry;
    if (value.run?.node !== this.#node) {
      this.#forget();
      run.controller.abort(new DOMException("Another node has taken the run over", "AbortError"));
      return 0;
    }
    if (run.outcome) {
      await this.#finish(run, run.outcome, entry);
      return 0;
    }
    const due = this.#times.latest(value.watermark, now);
    const skips = due !== undefined;
    const renewed: CronRecord = { ...value, ...(skips && { watermark: due, skipped: value.skipped + 1 }) };
    if (!await this.#lease.write(renewed, entry.version)) return 0;
    if (skips) {
      const fields = { running: isoTime(value.run.scheduled) };
      this.#log("warn", "A cron skips a time: the run before still goes on", due, fields);
    }
    return Math.max(1, Math.min(this.#lease.renewInterval, this.#times.next(now) - now));
  }

  async #finish(run: OwnRun, outcome: NonNullable<OwnRun["outcome"]>, entry: Entry): Promise<void> {
    const { value } = entry;
    const { scheduled, began } = run.running;
    const error = outcome.failed ? errorText(outcome.error) : undefined;
    const last = { scheduled, began, ended: outcome.at };
    // It was aborted before it was done: another node runs the time again.
    const isGivenBack = outcome.failed && run.controller.signal.aborted;
    const ended: CronRecord = isGivenBack ? { ...value, run: { ...run.running, node: "" } } : {
      ...value,
      run: undefined,
      last,
      recent: [...value.recent ?? [], { ...last, ...(error !== undefined && { error: error.slice(0, 200) }) }]
        .slice(-MAX_RECENT),
      runs: value.runs + 1,
      failures: value.failures + (outcome.failed ? 1 : 0),
      lastError: error === undefined ? value.lastError : { at: outcome.at, error },
    };
    if (await this.#lease.write(ended, entry.version)) this.#forget();
  }

  #forget(): void {
    this.#lease.unwatch();
    this.#run = undefined;
    this.#isSettled = false;
  }

  #log(level: "warn" | "error", message: string, scheduled?: number, fields: Record<string, unknown> = {}): void {
    const time = scheduled !== undefined && { scheduled: isoTime(scheduled) };
    log(level, message, { cron: this.#cron.name, ...time, ...fields });
  }
}

function isoTime(time: number): string {
  return new Date(time).toISOString();
}

interface CronCall {
  readonly scheduled: number;
  readonly signal: AbortSignal;
  readonly app: AppHandle;
  readonly state: unknown;
}

/** Rejects as the handler does. */
export async function callHandler(cron: DeclaredCron, { scheduled, signal, app, state }: CronCall): Promise<void> {
  const handler = cron.handler as CronHandler<unknown>;
  const due = new Date(scheduled);
  const returned = await handler({
    scheduled: due,
    signal,
    log: makeLog(loggerOf(app, { cron: cron.name, scheduled: due.toISOString() })),
    app,
    state: state as Readonly<unknown>,
  });
  // A returned error counts as a thrown one.
  if (returned instanceof Error) throw returned;
}
