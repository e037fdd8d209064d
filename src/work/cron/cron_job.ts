/**
 * Runs one cron on this node. All nodes decide together, by one record, which of them runs a time.
 */
import { errorText } from "../../log/log_text.ts";
import type { AppHandle } from "../../http/app_handle.ts";
import { describeError, log, loggerOf, makeLog } from "../../log/log.ts";
import { hasProcessEnded, processNameOf, type Records } from "../../store/records.ts";
import type { StoredRecord } from "../../store/record_store.ts";
import { type Tracing, tracing } from "../../log/telemetry.ts";
import type { CronClock } from "./clock.ts";
import type { CronHandler, DeclaredCron } from "./options.ts";
import { type CronRecord, MAX_AHEAD, newRecord, type RunningCron } from "./record.ts";
import type { CronTimes } from "./times.ts";

/** How long a node that has died holds a run, in milliseconds. */
const LEASE = 30_000;
/** How often a lease is renewed. */
const RENEWAL = LEASE / 3;
/** When a node that cannot renew stops its run: others may take it over at the end of the lease. */
const LOST = LEASE * 0.8;
/** How often a node looks at the run of another one. */
const LOOK = LEASE / 4;
/** How late a time still runs on a node that was there when it was due. */
const LATE = 2 * LEASE;
/** How long a node waits after the store has failed. */
const RETRY = 5_000;
/** How long a node sleeps at most: somebody may set its clock. */
const LONGEST_SLEEP = 60_000;
/** How far the clocks of this machine may differ before the store is asked for the time. */
const TOLERANCE = 2_000;
/** How long a run that was stopped has until its lease is given back. */
const LAST_WORDS = 1_000;

/** What the crons of an application share. */
export interface CronContext {
  readonly app: AppHandle;
  readonly state: unknown;
  /** The records of crons. */
  readonly records: Records;
  readonly clock: CronClock;
}

/** A run of this node. */
interface OwnRun {
  readonly running: RunningCron;
  readonly controller: AbortController;
  /** When the lease was renewed last, by both clocks. */
  renewed: Moment;
  unwatch: () => void;
  /** Prevents that it is given up after its signal was aborted. */
  keepWaiting: () => void;
  /** How it has ended. */
  outcome?: { readonly at: number; readonly failed: boolean; readonly error?: unknown };
}

interface Moment {
  readonly now: number;
  readonly time: number;
}

type Entry = StoredRecord<CronRecord>;

/** A cron on this node. */
export class CronJob {
  readonly #cron: DeclaredCron;
  readonly #times: CronTimes;
  readonly #context: CronContext;
  readonly #key: readonly string[];
  /** Identifies the node in the record. */
  readonly #node = crypto.randomUUID();
  /** The name of this process, if the store can say whether it has ended. */
  #process: string | undefined;
  /** When the job was made, by the clock that nobody sets. */
  readonly #madeAt: number;
  /** From when on this node is there. */
  #since = Infinity;
  /** How much earlier than it was made. */
  #early = 0;
  /** How far the clocks of this machine differed when the store told the time. */
  #skew: number | undefined;
  /** The time that was due when this node looked last. */
  #due: number | undefined;
  /** The newest time that this node noticed when it was due. */
  #noticed: number | undefined;
  /** The place of which the log says that the clock is behind it. */
  #awaited: number | undefined;
  /** The newest time of which the log says that it was missed. */
  #missed: number | undefined;
  /** Whether the record was read since the last time was due. */
  #isSettled = false;
  /** The record with the run of another node, and when that version was seen first. */
  #watched: { readonly version: string; readonly since: number } | undefined;
  #run: OwnRun | undefined;
  #isEnding = false;
  #isClosed = false;
  #hasFailed = false;
  #wake: () => void = () => {};

  /**
   * Makes a cron that does nothing yet.
   *
   * @param cron What was declared.
   * @param times Its times.
   * @param context What it shares with others.
   */
  constructor(cron: DeclaredCron, times: CronTimes, context: CronContext) {
    this.#cron = cron;
    this.#times = times;
    this.#context = context;
    this.#key = [cron.name];
    this.#madeAt = context.clock.now();
  }

  /** Runs what is due now, and waits for its end. The platform says when: the time may be over. */
  async workOnce(): Promise<void> {
    this.#early = LATE;
    await this.work(true);
  }

  /**
   * Runs times until it is ended.
   *
   * @param isOnce Whether it is over when nothing is due, and nothing runs.
   */
  async work(isOnce = false): Promise<void> {
    this.#process = await processNameOf(this.#context.records);
    while (!this.#isClosed && (this.#run || !this.#isEnding)) {
      const wait = await this.#tryStep();
      const isIdle = !this.#run && !this.#watched && this.#isSettled && wait > 0;
      if (this.#isClosed || (isIdle && (isOnce || this.#isEnding))) return;
      if (wait > 0) await this.#sleep(Math.min(wait, LONGEST_SLEEP));
    }
  }

  /** Begins nothing new. */
  end(): void {
    this.#isEnding = true;
    this.#wake();
  }

  /** Aborts the signal of the run, and gives the run back if it has not ended soon after. */
  abort(): void {
    this.end();
    const run = this.#run;
    if (!run || run.outcome) return;
    log("warn", "A cron did not end in the grace period: its signal is aborted", {
      cron: this.#cron.name,
      scheduled: textOf(run.running.scheduled),
    });
    run.controller.abort(stopReason());
    run.keepWaiting = this.#context.clock.after(LAST_WORDS, () => this.#settle(run, { failed: true }));
  }

  /** Ends at once: the store does not answer. */
  close(): void {
    this.#isClosed = true;
    this.#run?.unwatch();
    this.#wake();
  }

  async #sleep(ms: number): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#wake = resolve;
    const cancel = this.#context.clock.after(ms, resolve);
    const { outcome } = this.#run ?? {};
    if (outcome || this.#isClosed || (this.#isEnding && !this.#run)) resolve();
    await promise;
    cancel();
  }

  /** Takes one step. Returns after how many milliseconds to take the next one. */
  async #tryStep(): Promise<number> {
    try {
      const wait = await this.#step();
      this.#hasFailed = false;
      return wait;
    } catch (error) {
      if (!this.#hasFailed) {
        log("error", "A cron cannot use the records, and tries again", {
          cron: this.#cron.name,
          error: describeError(error),
        });
      }
      this.#hasFailed = true;
      return RETRY;
    }
  }

  async #step(): Promise<number> {
    await this.#learnTime();
    const now = this.#context.clock.time();
    // Somebody may have set the clock back.
    this.#since = Math.min(this.#since, now);
    if (this.#due !== undefined && this.#due > now) {
      this.#due = undefined;
      this.#isSettled = false;
    }
    const due = this.#times.latest(this.#since, now);
    if (due !== undefined && due !== this.#due) {
      this.#due = due;
      // A machine that has slept finds a time that was due long ago: it may be made up for.
      this.#isSettled = false;
      if (now - due <= LATE) this.#noticed = due;
    }
    const entry = this.#isSettled && !this.#run && !this.#watched ? undefined : await this.#read(now);
    if (entry) {
      if (this.#run) return await this.#keep(this.#run, entry, now);
      if (this.#isEnding) return 1;
      const wait = await this.#look(entry, now);
      if (wait !== undefined) return wait;
      this.#isSettled = true;
    }
    return Math.max(1, this.#times.next(now) - now);
  }

  /**
   * Has the store tell the time, where nobody has asked for it yet, somebody has set the clock of
   * this machine, or it has slept: the time of a store is known by its answers.
   */
  async #learnTime(): Promise<void> {
    const { clock, records } = this.#context;
    const skew = clock.wall() - clock.now();
    if (this.#skew !== undefined && Math.abs(skew - this.#skew) <= TOLERANCE) return;
    await records.get(this.#key);
    if (this.#skew === undefined) this.#since = clock.time() - (clock.now() - this.#madeAt) - this.#early;
    this.#skew = skew;
  }

  async #read(now: number): Promise<Entry> {
    const { records } = this.#context;
    const entry = await records.get<CronRecord>(this.#key);
    if (entry && (entry.value.place <= now + MAX_AHEAD || entry.value.run)) {
      this.#notePlace(entry.value.place, now);
      return entry;
    }
    if (entry) log("warn", "The clock was set back: a cron begins again", { cron: this.#cron.name });
    const value = entry ? { ...entry.value, place: Math.min(now, (this.#noticed ?? now) - 1) } : newRecord(this.#since);
    const version = await records.set(this.#key, value, { expect: entry?.version ?? null });
    return version === null ? await this.#read(now) : { value, version };
  }

  /** Times up to the place have run. Clocks of nodes differ a little. */
  #notePlace(place: number, now: number): void {
    if (place <= now + LATE || place === this.#awaited) return;
    this.#awaited = place;
    log("warn", "The clock was set back: a cron waits until it is past its last time", {
      cron: this.#cron.name,
      last: textOf(place),
    });
  }

  /** Looks for what is due. Returns when to look again; undefined if nothing is to be done. */
  async #look(entry: Entry, now: number): Promise<number | undefined> {
    const { place, run } = entry.value;
    const due = this.#times.latest(place, now);
    if (!run) {
      this.#watched = undefined;
      if (due === undefined) return undefined;
      if (this.#mayRun(due, now)) return await this.#claim(entry, due);
      if (now - due > LATE && due !== this.#missed) {
        log("warn", "A time of a cron was missed", { cron: this.#cron.name, scheduled: textOf(due) });
        this.#missed = due;
      }
      return undefined;
    }
    if (run.node === this.#node) return await this.#begin(entry, run);
    if (run.node !== "" && !await this.#isGone(entry.version, run)) return LOOK;
    // The next time may have come meanwhile: it runs in place of the one that broke off.
    if (due === undefined || this.#mayRun(due, now)) return await this.#claim(entry, due ?? run.scheduled);
    log("warn", "A run of a cron broke off, and it is too late to run it again", {
      cron: this.#cron.name,
      scheduled: textOf(run.scheduled),
    });
    await this.#write(entry, { ...entry.value, run: undefined });
    this.#watched = undefined;
    return 0;
  }

  #mayRun(due: number, now: number): boolean {
    return now - due < this.#cron.catchUp || due === this.#noticed;
  }

  /**
   * Whether the node of a run has died. Where the store cannot say so, its lease was not renewed
   * for so long: a handler that blocks its thread renews nothing.
   */
  async #isGone(version: string, { process }: RunningCron): Promise<boolean> {
    const { clock, records } = this.#context;
    const now = clock.now();
    if (this.#watched?.version !== version) this.#watched = { version, since: now };
    const { since } = this.#watched;
    const hasEnded = process === undefined ? undefined : await hasProcessEnded(records, process);
    return hasEnded ?? now - since >= LEASE;
  }

  async #claim(entry: Entry, scheduled: number): Promise<number> {
    const { clock } = this.#context;
    const began = clock.time();
    const running: RunningCron = {
      ...{ scheduled, began, node: this.#node },
      ...(this.#process !== undefined && { process: this.#process }),
    };
    const place = Math.max(entry.value.place, scheduled);
    const sent = momentOf(clock);
    const written = await this.#write(entry, { ...entry.value, place, run: running });
    return written ? this.#start(running, sent) : 0;
  }

  /** Begins a run of which the answer to the claim was lost. */
  async #begin(entry: Entry, run: RunningCron): Promise<number> {
    const sent = momentOf(this.#context.clock);
    return await this.#write(entry, entry.value) ? this.#start(run, sent) : 0;
  }

  #start(running: RunningCron, renewed: Moment): number {
    this.#watched = undefined;
    const run: OwnRun = {
      running,
      controller: new AbortController(),
      renewed,
      unwatch: () => {},
      keepWaiting: () => {},
    };
    this.#run = run;
    this.#guard(run);
    // A stop may have come before the answer of the store.
    if (!this.#isEnding) void this.#handle(run);
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
    const attributes = { "webfw.cron.name": name, "webfw.cron.scheduled": textOf(scheduled) };
    return tracing.run(`cron ${name}`, { attributes, isRoot: true }, handle);
  }

  #settle(run: OwnRun, how: { readonly failed: boolean; readonly error?: unknown }): void {
    if (run.outcome) return;
    run.keepWaiting();
    run.outcome = { at: this.#context.clock.time(), ...how };
    const { signal } = run.controller;
    if (how.failed && !signal.aborted) {
      log("error", "A cron failed", {
        cron: this.#cron.name,
        scheduled: textOf(run.running.scheduled),
        error: describeError(how.error),
      });
    }
    this.#wake();
  }

  /** Stops a run whose lease cannot be renewed, unless others know that this process lives. */
  #guard(run: OwnRun): void {
    run.unwatch();
    if (run.running.process !== undefined) return;
    const { clock } = this.#context;
    run.unwatch = clock.after(Math.max(1, LOST - elapsedSince(run.renewed, clock)), () => {
      if (elapsedSince(run.renewed, clock) < LOST) return this.#guard(run);
      if (run.outcome || run.controller.signal.aborted) return;
      log("warn", "A cron stops its run: the lease could not be renewed, and another node may take it over", {
        cron: this.#cron.name,
        scheduled: textOf(run.running.scheduled),
      });
      run.controller.abort(new DOMException("The lease of the run could not be renewed", "AbortError"));
    });
  }

  /**
   * Renews the lease of a run by writing the record again, skips what is due meanwhile, and notes
   * how it has ended.
   */
  async #keep(run: OwnRun, entry: Entry, now: number): Promise<number> {
    const { value } = entry;
    if (value.run?.node !== this.#node) {
      this.#forget(run);
      run.controller.abort(new DOMException("Another node has taken the run over", "AbortError"));
      return 0;
    }
    if (run.outcome) {
      await this.#finish(run, run.outcome, entry);
      return 0;
    }
    const due = this.#times.latest(value.place, now);
    const skips = due !== undefined;
    const sent = momentOf(this.#context.clock);
    const renewed: CronRecord = {
      ...value,
      ...(skips && { place: due, skipped: value.skipped + 1 }),
    };
    if (!await this.#write(entry, renewed)) return 0;
    run.renewed = sent;
    if (skips) {
      log("warn", "A cron skips a time: the run before still goes on", {
        cron: this.#cron.name,
        scheduled: textOf(due),
        running: textOf(value.run.scheduled),
      });
    }
    return Math.max(1, Math.min(RENEWAL, this.#times.next(now) - now));
  }

  async #finish(run: OwnRun, outcome: NonNullable<OwnRun["outcome"]>, entry: Entry): Promise<void> {
    const { value } = entry;
    const { scheduled, began } = run.running;
    // It was stopped before it was done: another node runs the time again.
    const isGivenBack = outcome.failed && run.controller.signal.aborted;
    const ended: CronRecord = isGivenBack ? { ...value, run: { ...run.running, node: "" } } : {
      ...value,
      run: undefined,
      last: { scheduled, began, ended: outcome.at },
      runs: value.runs + 1,
      failures: value.failures + (outcome.failed ? 1 : 0),
      lastError: outcome.failed ? { at: outcome.at, error: errorText(outcome.error) } : value.lastError,
    };
    if (await this.#write(entry, ended)) this.#forget(run);
  }

  #forget(run: OwnRun): void {
    run.unwatch();
    this.#run = undefined;
    this.#isSettled = false;
  }

  /** Writes the record if nobody has changed it. */
  async #write(entry: Entry, value: CronRecord): Promise<boolean> {
    return await this.#context.records.set(this.#key, value, { expect: entry.version }) !== null;
  }
}

function stopReason(): DOMException {
  return new DOMException("The application stops", "AbortError");
}

function momentOf({ now, time }: CronClock): Moment {
  return { now: now(), time: time() };
}

/** At least what one of the clocks says: a machine may sleep, and a clock may be set. */
function elapsedSince(moment: Moment, { now, time }: CronClock): number {
  return Math.max(now() - moment.now, time() - moment.time);
}

function textOf(time: number): string {
  return new Date(time).toISOString();
}

/** What a handler gets. */
interface CronCall {
  /** The time that is due, in milliseconds since 1970. */
  readonly scheduled: number;
  readonly signal: AbortSignal;
  readonly app: AppHandle;
  readonly state: unknown;
}

/** Calls the handler, and fails as it does. */
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
  // A returned error is a failure, like a thrown one.
  if (returned instanceof Error) throw returned;
}
