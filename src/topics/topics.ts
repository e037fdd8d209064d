/** The topics of an application, by name. */
import { Lazy, load } from "../base/async_context.ts";
import { type Clock, SYSTEM_CLOCK } from "../base/clock.ts";
import { RouteError } from "../base/errors.ts";
import { log } from "../log/log.ts";
import { nearest, quote } from "../base/options.ts";
import { OrderedMap } from "../base/ordered_map.ts";
import type { Service } from "../base/service.ts";
import { Records } from "../store/records.ts";
import type { RecordStore } from "../store/record_store.ts";
import type { DeclaredConsumer } from "./consume_options.ts";
import type { LogFollower } from "./log_follower.ts";
import { Publisher, type PublishResult, STORE_TIMEOUT } from "./publisher.ts";
import type { Scheduler } from "./schedule/scheduler.ts";
import type { MessageToSchedule } from "./schedule/scheduled_records.ts";
import { type LogRef, orAborted, type TopicStore } from "../store/topic_store.ts";
import { type RuntimeContext, Topic, TopicRuntime } from "./topic.ts";
import { DeclaredTopic, type TopicDeclarations } from "./declared_topic.ts";
import { checkAgreement, checkSameOptions, type TopicOptions } from "./topic_options.ts";
import type { ConsumerReport, TopicReport } from "./topic_report.ts";

/** How many transient topics stay without use. */
const MAX_IDLE_TOPICS = 10_000;

/** How many names are logged: clients may choose them. */
const MAX_WARNED_NAMES = 20;

/**
 * When a node that has started looks for scheduled messages for the first time, in milliseconds.
 */
const SCHEDULER_DELAY = 300;

/** How long a publish may take after all others were abandoned, in milliseconds. */
const LAST_PUBLISH_TIMEOUT = 1_000;

interface Entry {
  readonly topic: Topic;
  readonly runtime: TopicRuntime<unknown>;
}

export interface TopicsOptions {
  /** Opens the store on first use, and again after a close. Its methods throw, not this. */
  readonly openStore: (isDurable: boolean) => TopicStore;
  /** If it was, records are durable though no topic is. */
  readonly isStoreNamed?: () => boolean;
  readonly now?: () => number;
  /** Of scheduled messages. */
  readonly clock?: Clock;
  readonly maxIdle?: number;
}

/**
 * Finds topics by name. All of an unused topic but its options is in its store, so it can be
 * dropped and made again. Topics made while serving are transient: their names may come from
 * requests.
 */
export class Topics implements Service, TopicDeclarations {
  readonly records: Records;
  readonly #openStore: (isDurable: boolean) => TopicStore;
  readonly #isStoreNamed: () => boolean;
  readonly #maxIdle: number;
  readonly #context: RuntimeContext;
  readonly #declared = new Map<string, Entry>();
  readonly #transient = new OrderedMap<string, Entry>();
  readonly #closing = new Set<() => Promise<void>>();
  /** Followers, and watches of records: closed when the application drains. */
  readonly #followers = new Set<Pick<LogFollower<unknown>, "close">>();
  /** The open stores, by `isDurable`. */
  readonly #stores = new Map<boolean, TopicStore>();
  readonly #consumers: DeclaredConsumer[] = [];
  /** By `isDurable`, of the open stores. */
  readonly #schedulers = new Map<boolean, Lazy<Scheduler>>();
  /** Publishers of scheduled messages whose topics this process does not use. */
  readonly #otherPublishers = new OrderedMap<string, Publisher>();
  readonly #clock: Clock;
  #cancelScheduler: (() => void) | undefined;
  #isServing = false;
  readonly #warnedNames = new Set<string>();
  #hasStarted = false;
  #needsRecords = false;
  /** The store of durable topics has passed its check. */
  #isOpen = false;
  #isEnding = false;
  /** A start must not wait for a store while the application stops. */
  #ending = new AbortController();
  #abandoned = Promise.withResolvers<void>();
  #hasDurableRecords: boolean | undefined;
  /** Abandons later publishes; undefined until publishing is abandoned. */
  #abandonTimer: ReturnType<typeof setInterval> | undefined;

  constructor(options: TopicsOptions) {
    const { openStore, isStoreNamed = () => false, now = Date.now, clock = SYSTEM_CLOCK } = options;
    const { maxIdle = MAX_IDLE_TOPICS } = options;
    this.#clock = clock;
    this.#openStore = openStore;
    this.#isStoreNamed = isStoreNamed;
    this.#maxIdle = maxIdle;
    const watches = { isEnding: () => this.#isEnding, open: this.#followers };
    const processes = () => this.storeOf(this.#areRecordsDurable());
    const closing = this.#closing;
    const open = () => this.#openRecords();
    this.records = new Records({ open, watches, closing, processes, now: () => this.recordsTime }, "app");
    this.#context = {
      store: (isDurable) => this.storeOf(isDurable),
      isEnding: () => this.#isEnding,
      followers: this.#followers,
      now,
      addConsumer: (consumer) => this.#addConsumer(consumer),
      scheduler: (isDurable) => this.#schedulerOf(isDurable).use(),
    };
  }

  /** In milliseconds since 1970, by the store of records if it has a clock. */
  get recordsTime(): number {
    return this.#stores.get(this.#areRecordsDurable())?.now?.() ?? this.#context.now();
  }

  /** Those that were made before the application serves. */
  get declared(): readonly DeclaredTopic[] {
    return Array.from(this.#declared.values(), ({ runtime }) => runtime.declared);
  }

  /** Whether the store of durable topics is in use. */
  get isDurableOpen(): boolean {
    return this.#isOpen;
  }

  /** Open subscriptions by topic. Transient ones have no name here: clients may choose it. */
  get subscribers(): ReadonlyMap<string | undefined, number> {
    const counts = new Map<string | undefined, number>();
    for (const [name, { runtime }] of this.#declared) counts.set(name, runtime.subscribers);
    let others = 0;
    for (const [, { runtime }] of this.#transient) others += runtime.subscribers;
    return this.#transient.size === 0 ? counts : counts.set(undefined, others);
  }

  get isEnding(): boolean {
    return this.#isEnding;
  }

  /** Nothing more can be declared. */
  get isFrozen(): boolean {
    return this.#isServing || this.#hasStarted;
  }

  get consumers(): readonly DeclaredConsumer[] {
    return this.#consumers;
  }

  /**
   * The same object every time.
   *
   * @throws {TypeError} If the name or an option is invalid, or an option differs from before.
   * @throws {RangeError} If a bound is out of its range.
   * @throws {RouteError} With code `frozen`, if a value of `topic()` is first used while serving.
   */
  topic<Data = unknown, Input = Data, Owner = unknown>(
    given: string | DeclaredTopic<Data, Input>,
    options?: TopicOptions<Data, Input>,
  ): Topic<Data, Input, Owner> {
    // The types are those of the declaration, which is compared.
    return this.#entryOf(given as string | DeclaredTopic, options as TopicOptions).topic as Topic<Data, Input, Owner>;
  }

  check({ name, options }: DeclaredTopic): void {
    const existing = this.#declared.get(name);
    if (existing) checkSameOptions(existing.runtime.options, options, name);
  }

  declare(topic: DeclaredTopic): void {
    this.#entryOf(topic);
  }

  /**
   * Reports on durable topics, declared or in their store, and on topics in memory with consumers.
   *
   * @throws {SyntaxError} If `after`, the position of a reader, is no id.
   * @throws {TypeError} If the store cannot be listed.
   */
  async report(
    after: string | undefined,
    reportConsumers: (store: TopicStore, log: LogRef) => Promise<readonly ConsumerReport[]>,
  ): Promise<TopicReport[]> {
    const { reportLogs, reportTopics } = await load(() => import("./topic_report.ts"));
    const declared = this.#declaredLogs();
    const durable = await reportTopics(this.storeOf(true), after, reportConsumers, declared);
    const consumed = this.#consumers.filter(({ isDurable }) => !isDurable).map(({ log }) => log);
    // Topics in memory exist only if this process works.
    if (consumed.length === 0 || !this.#stores.has(false)) return durable;
    return [...durable, ...await reportLogs(this.storeOf(false), [...new Set(consumed)], after, reportConsumers)];
  }

  /** The logs that may have consumers, sorted by name, with their stores. */
  async logsOfConsumers(): Promise<[LogRef, TopicStore][]> {
    const found = new Map<string, [LogRef, TopicStore]>();
    const durable = this.durableStore;
    for (const log of await durable?.list?.() ?? []) found.set(log.name, [log, durable!]);
    for (const { log, isDurable } of this.#consumers) {
      const store = this.openStoreOf(isDurable);
      if (store) found.set(log.name, [log, store]);
    }
    return [...found.values()].sort(([one], [other]) => one.name < other.name ? -1 : 1);
  }

  async reportDeclared(): Promise<TopicReport[]> {
    const { reportDeclared } = await load(() => import("./topic_report.ts"));
    return reportDeclared(this.#declaredLogs(), this.#consumers);
  }

  /**
   * @throws {TypeError} If no durable topic of this name is declared or stored. The message names
   * the nearest one.
   */
  async checkStored(name: string): Promise<void> {
    const store = this.storeOf(true);
    if (this.#find(name) || store.list === undefined) return;
    const declared = this.#runtimes().filter(({ options }) => options.isDurable).map(({ name }) => name);
    const names = [...declared, ...(await store.list()).map(({ name }) => name)];
    if (names.includes(name)) return;
    const cure = names.length === 0 ? "there are none yet" : `the nearest is ${quote(nearest(name, names))}`;
    throw new TypeError(
      `Cannot follow ${quote(name)}: neither the application nor its store has a durable topic of this name, ${cure}`,
    );
  }

  /**
   * For topics that are not durable, until the topics are closed.
   *
   * @throws {Error} If such a topic was used already.
   */
  use(store: TopicStore): void {
    if (this.#stores.has(false)) {
      throw new Error("Cannot share topics among workers: they are in use already, run the App first");
    }
    this.#stores.set(false, store);
  }

  needRecords(): void {
    this.#needsRecords = true;
  }

  /**
   * Opens the store of durable topics if one is needed, also in a later call. From now on, no
   * consumers can be declared.
   *
   * @throws {Error} If the store cannot work.
   */
  async start(): Promise<void> {
    this.#hasStarted = true;
    if (this.#isOpen || !(this.#hasDurable() || (this.#needsRecords && this.#isStoreNamed()))) return;
    const opening = this.storeOf(true).open?.();
    if (opening) await orAborted(opening, this.#ending.signal);
    this.#isOpen = true;
    if (this.#hasDurable() && this.storeOf(true).openRecords) this.#startScheduler();
  }

  /**
   * For tests: publishes all scheduled messages of the application's topics, or of one, whatever
   * their times are.
   *
   * @throws {TypeError} If there is no topic of this name.
   */
  async publishScheduled(name?: string): Promise<number> {
    const runtimes = this.#runtimes().filter((runtime) => name === undefined || runtime.name === name);
    if (runtimes.length === 0 && name !== undefined) {
      const names = this.#runtimes().map(({ name }) => quote(name)).join(", ") || "none";
      throw new TypeError(
        `Cannot publish the scheduled messages of ${
          quote(name)
        }: there is no topic of this name, declared are: ${names}`,
      );
    }
    let count = 0;
    for (const isDurable of [false, true]) {
      const own = runtimes.filter(({ options }) => options.isDurable === isDurable).map(({ name }) => name);
      if (own.length > 0) count += await (await this.#schedulerOf(isDurable).use()).publishNow(own);
    }
    return count;
  }

  /** The open store, or a new one: after a close it is another one. */
  storeOf(isDurable: boolean): TopicStore {
    const store = this.#stores.get(isDurable) ?? this.#openStore(isDurable);
    this.#stores.set(isDurable, store);
    return store;
  }

  /** The store of durable topics; undefined if the application has none, and names no store. */
  get durableStore(): TopicStore | undefined {
    return this.#isStoreNamed() || this.#hasDurable() ? this.storeOf(true) : undefined;
  }

  /** The store; undefined if topics are in memory, and this process has not used any. */
  openStoreOf(isDurable: boolean): TopicStore | undefined {
    return isDurable ? this.storeOf(true) : this.#stores.get(false);
  }

  /** New topics are transient from now on. */
  serve(): void {
    this.#isServing = true;
  }

  /** New subscriptions are closed at once until {@linkcode Topics.close}. */
  drain(): void {
    this.#isEnding = true;
    this.#ending.abort(new Error("Cannot start the application: it stops"));
    this.#cancelScheduler?.();
    for (const scheduler of this.#schedulers.values()) scheduler.made?.then((made) => made.drain(), () => {});
    for (const follower of this.#followers) follower.close();
  }

  /**
   * Abandons all publishes. Later ones, such as those of lifespans that end, have about a second: a
   * store that cannot be reached must not delay a stop.
   */
  abort(_reason?: DOMException, only?: "handlers"): void {
    if (only === "handlers") return;
    this.#abandonTimer ??= setInterval(() => this.#abandonAll(), LAST_PUBLISH_TIMEOUT);
    this.#abandonAll();
    this.#abandoned.resolve();
  }

  /** Waits up to 30 seconds for publishes. Topics can be used again afterwards. */
  async close(): Promise<void> {
    this.drain();
    await Promise.allSettled(Array.from(this.#closing, (action) => action()));
    await this.#publishAll();
    clearInterval(this.#abandonTimer);
    this.#abandonTimer = undefined;
    this.#abandoned = Promise.withResolvers();
    this.#ending = new AbortController();
    const stores = [...this.#stores.values()];
    this.#stores.clear();
    this.#schedulers.clear();
    this.#otherPublishers.shrink(0);
    this.#isOpen = this.#isEnding = false;
    this.#hasDurableRecords = undefined;
    await Promise.all(stores.map((store) => store.close()));
  }

  #startScheduler(): void {
    const start = () => void this.#schedulerOf(true).use().then((scheduler) => scheduler.start(), () => {});
    this.#cancelScheduler = this.#clock.after(SCHEDULER_DELAY, start, { keepsAlive: false });
  }

  #schedulerOf(isDurable: boolean): Lazy<Scheduler> {
    let scheduler = this.#schedulers.get(isDurable);
    if (!scheduler) {
      const store = this.storeOf(isDurable);
      scheduler = new Lazy(async () => {
        const { Scheduler } = await load(() => import("./schedule/scheduler.ts"));
        const publish = (log: LogRef, message: MessageToSchedule) => this.#publishScheduled(log, message, isDurable);
        return new Scheduler({ store, isDurable, clock: this.#clock, publish });
      });
      this.#schedulers.set(isDurable, scheduler);
    }
    return scheduler;
  }

  async #closeSchedulers(): Promise<void> {
    await Promise.all(Array.from(this.#schedulers.values(), async ({ made }) => {
      await (await made?.catch(() => undefined))?.close();
    }));
  }

  #publishScheduled(log: LogRef, message: MessageToSchedule, isDurable: boolean): Promise<PublishResult> {
    const runtime = (this.#transient.get(log.name) ?? this.#declared.get(log.name))?.runtime;
    if (runtime?.options.isDurable === isDurable) return runtime.publisher.publish(message);
    // An earlier release of the application had the topic, or another application has it.
    const { now } = this.#context;
    const publisher = this.#otherPublishers.get(log.name) ??
      new Publisher({ store: () => this.storeOf(isDurable), log, ready: () => undefined, now });
    this.#otherPublishers.set(log.name, publisher);
    return publisher.publish(message);
  }

  async #publishAll(): Promise<void> {
    if (this.#abandonTimer !== undefined) this.#abandonAll();
    const publishers = this.#publishers().filter(({ isIdle }) => !isIdle);
    if (publishers.length === 0 && this.#schedulers.size === 0) return;
    const timer = setTimeout(() => this.abort(), STORE_TIMEOUT);
    // If a program retries abandoned messages without end, its publisher never drains.
    const drained = Promise.all([...publishers.map((publisher) => publisher.drained()), this.#closeSchedulers()]);
    await Promise.race([this.#abandoned.promise, drained]);
    clearTimeout(timer);
  }

  #abandonAll(): void {
    const cause = new Error("Cannot wait for the store any longer: the application stops");
    for (const publisher of this.#publishers()) publisher.abandon(cause);
  }

  #publishers(): Publisher[] {
    const others = Array.from(this.#otherPublishers, ([, publisher]) => publisher);
    return [...this.#runtimes().map(({ publisher }) => publisher), ...others];
  }

  #runtimes(): TopicRuntime<unknown>[] {
    return Array.from([...this.#declared, ...this.#transient], ([, { runtime }]) => runtime);
  }

  async #openRecords(): Promise<RecordStore> {
    this.#hasDurableRecords = this.#areRecordsDurable();
    const store = this.storeOf(this.#hasDurableRecords);
    if (store.openRecords) return await store.openRecords();
    throw new TypeError(
      "Cannot use the records: the store of topics that the App was given has none, give it openRecords()",
    );
  }

  #declaredLogs(): LogRef[] {
    return this.declared.filter(({ options }) => options.isDurable)
      .map(({ name, options: { policy } }) => ({ name, policy }));
  }

  #areRecordsDurable(): boolean {
    return this.#hasDurableRecords ?? (this.#isStoreNamed() || this.#hasDurable());
  }

  #addConsumer(consumer: DeclaredConsumer): void {
    const { name, log } = consumer;
    if (this.isFrozen) {
      throw new RouteError(
        "frozen",
        `Cannot make the consumer "${name}" of the topic "${log.name}": the application has started, declare it before`,
      );
    }
    if (this.#consumers.some((other) => other.name === name && other.log.name === log.name)) {
      throw new RouteError(
        "conflict",
        `Cannot make the consumer "${name}" of the topic "${log.name}": there is one already, use another name`,
      );
    }
    this.#refuseCircle(consumer);
    this.#consumers.push(consumer);
  }

  /** A message that fails in all consumers of a circle would be published without end, and grow. */
  #refuseCircle({ name, log, options: { deadLetter } }: DeclaredConsumer): void {
    if (deadLetter === undefined) return;
    const way = new Set([deadLetter]);
    for (const topic of way) {
      for (const { log, options: { deadLetter: next } } of this.#consumers) {
        if (log.name === topic && next !== undefined) way.add(next);
      }
    }
    if (!way.has(log.name)) return;
    throw new TypeError(
      `Cannot make the consumer "${name}" of the topic "${log.name}": its dead letters come back to that topic, by the deadLetter of the consumers of ${
        quote(deadLetter)
      }, leave out one of them`,
    );
  }

  #hasDurable(): boolean {
    return this.#runtimes().some(({ options }) => options.isDurable);
  }

  #find(name: string): Entry | undefined {
    const entry = this.#transient.get(name);
    if (!entry) return this.#declared.get(name);
    this.#transient.set(name, entry);
    return entry;
  }

  #entryOf(given: string | DeclaredTopic, options?: TopicOptions): Entry {
    if (given instanceof DeclaredTopic) return this.#declaredEntry(given, options);
    const entry = this.#find(given);
    if (!entry) return this.#add(new DeclaredTopic(given, options === undefined ? {} : options));
    if (options !== undefined) checkAgreement(entry.runtime.options, options, given);
    return entry;
  }

  /** Another topic of this name, which is in use or in another store, would be a silent mistake. */
  #declaredEntry(topic: DeclaredTopic, options: TopicOptions | undefined): Entry {
    const { name } = topic;
    if (options !== undefined) {
      throw new TypeError(
        `Cannot use the topic "${name}": its options are those of topic(…), leave out the second ones`,
      );
    }
    this.check(topic);
    const entry = this.#declared.get(name);
    if (entry) return entry;
    if (!this.#isServing) return this.#add(topic);
    throw new RouteError(
      "frozen",
      `Cannot use the topic "${name}": the application that serves has not declared it, call app.topic(…) or router.topic(…) before the first request`,
    );
  }

  #add(declared: DeclaredTopic): Entry {
    const { name } = declared;
    const runtime = new TopicRuntime(declared, this.#context, this.#isServing);
    const entry: Entry = { topic: new Topic(runtime), runtime };
    if (this.#isServing) {
      this.#warnOf(name);
      this.#transient.set(name, entry);
      this.#dropIdle();
    } else this.#declared.set(name, entry);
    return entry;
  }

  /** A name that is first used while serving may be mistyped, or chosen by a client. */
  #warnOf(name: string): void {
    const warned = this.#warnedNames;
    if (this.#declared.size === 0 || warned.size === MAX_WARNED_NAMES || warned.has(name)) return;
    warned.add(name);
    log("warn", "A topic that is not declared is used: declare it before the application serves, or correct its name", {
      topic: name,
      nearest: nearest(name, [...this.#declared.keys()]),
      ...(warned.size === MAX_WARNED_NAMES && { note: "further names are not logged" }),
    });
  }

  /** Examines few of the least recently used topics at a time. */
  #dropIdle(): void {
    for (let steps = 8; steps > 0 && this.#transient.size > this.#maxIdle; steps--) {
      const { key, value } = this.#transient.oldest!;
      if (value.runtime.isIdle) this.#transient.delete(key);
      else this.#transient.set(key, value);
    }
  }
}
