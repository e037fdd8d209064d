/** The topics of an application, by name. */
import { nearest, quote } from "../options.ts";
import { type RuntimeContext, TopicRuntime } from "./topic_runtime.ts";
import { STORE_TIMEOUT } from "./publisher.ts";
import type { TopicStore } from "./store.ts";
import type { LogFollower } from "./log_follower.ts";
import { Topic } from "./topic.ts";
import { reportTopics, type TopicReport } from "./topic_report.ts";
import { checkAgreement, resolveTopicOptions, type TopicOptions } from "./topic_options.ts";

/** A name is a part of a key, whose length stores limit. In UTF-16 units. */
const MAX_NAME_LENGTH = 256;

/** How many topics are kept at hand that were made while the application serves, and are not in use. */
const MAX_IDLE_TOPICS = 10_000;

/** How long what is published at the last moment is waited for, in milliseconds. */
const LAST_PATIENCE = 1_000;

/** A topic and its inside. */
interface Entry {
  readonly topic: Topic;
  readonly runtime: TopicRuntime<unknown>;
}

/** How the topics of an application are made. */
export interface TopicsOptions {
  /**
   * Makes a store, that of durable topics or that of the others, on first use and again after it was closed. Where it cannot be
   * reached, its methods say so.
   */
  readonly openStore: (isDurable: boolean) => TopicStore;
  /** The time in milliseconds since 1970. */
  readonly now?: () => number;
  /** How many topics are kept at hand that are not in use. */
  readonly maxIdle?: number;
}

/**
 * Finds topics by name. A topic holds nothing that is not in the store, but for its options: one that nobody uses can be let go of
 * and made again.
 */
export class Topics {
  readonly #openStore: (isDurable: boolean) => TopicStore;
  readonly #maxIdle: number;
  readonly #context: RuntimeContext;
  readonly #declared = new Map<string, Entry>();
  /** Those that were made while the application serves, the one that was asked for last at the end. */
  readonly #passing = new Map<string, Entry>();
  readonly #tails = new Set<Pick<LogFollower<unknown>, "close">>();
  /** By whether they are durable. */
  readonly #stores = new Map<boolean, TopicStore>();
  #isServing = false;
  /** Whether the store of durable topics was found to be able to work. */
  #isOpen = false;
  #isEnding = false;
  /** Resolves when what is being published is given up; another one after each close. */
  #givenUp = Promise.withResolvers<void>();
  /** Gives up what is published after that; undefined until then. */
  #givingUp: ReturnType<typeof setInterval> | undefined;

  /** Makes no topic yet, and opens no store. */
  constructor({ openStore, now = Date.now, maxIdle = MAX_IDLE_TOPICS }: TopicsOptions) {
    this.#openStore = openStore;
    this.#maxIdle = maxIdle;
    this.#context = {
      store: (isDurable) => this.#storeOf(isDurable),
      isEnding: () => this.#isEnding,
      tails: this.#tails,
      now,
    };
  }

  /**
   * The topic of a name: the same one every time.
   *
   * @param name The name, 1 to 256 characters.
   * @param options What it is declared with. Given again, they must agree.
   * @throws {TypeError} When the name or an option cannot be used, or an option is not what it was before.
   * @throws {RangeError} When a bound cannot be kept.
   */
  topic<Data = unknown, Input = Data>(name: string, options?: TopicOptions<Data, Input>): Topic<Data, Input> {
    const entry = this.#find(name);
    if (entry && options !== undefined) checkAgreement(entry.runtime.options, options, name);
    // The topic of a name is what it was declared as; checked where the options are given again.
    return (entry ?? this.#add(name, options)).topic as Topic<Data, Input>;
  }

  /**
   * What the store of durable topics holds.
   *
   * @param after The id that a reader has come to.
   * @throws {SyntaxError} When the id is none.
   * @throws {TypeError} When the store cannot be listed.
   */
  report(after: string | undefined): Promise<TopicReport[]> {
    return reportTopics(this.#storeOf(true), after);
  }

  /**
   * Makes sure that a topic of a name is declared here, or is in the store of durable topics.
   *
   * @throws {TypeError} When there is none. The message names the nearest.
   */
  async check(name: string): Promise<void> {
    const store = this.#storeOf(true);
    if (this.#find(name) || store.list === undefined) return;
    const declared = this.#channels().filter(({ options }) => options.isDurable).map(({ name }) => name);
    const names = [...declared, ...(await store.list()).map(({ name }) => name)];
    if (names.includes(name)) return;
    const cure = names.length === 0 ? "there are none yet" : `the nearest is ${quote(nearest(name, names))}`;
    throw new TypeError(
      `Cannot follow ${quote(name)}: neither the application nor its store has a durable topic of this name, ${cure}`,
    );
  }

  /**
   * Uses a store that is open for what is not durable, until the topics are closed.
   *
   * @throws {Error} When topics have a store already.
   */
  use(store: TopicStore): void {
    if (this.#stores.has(false)) {
      throw new Error("Cannot share topics among workers: they are in use already, run the App first");
    }
    this.#stores.set(false, store);
  }

  /**
   * Finds out whether the store of durable topics can work, where there are any.
   *
   * @throws {Error} When it cannot.
   */
  async open(): Promise<void> {
    if (this.#isOpen || !this.#channels().some(({ options }) => options.isDurable)) return;
    await this.#storeOf(true).open?.();
    this.#isOpen = true;
  }

  /** From now on topics are made with names that come from requests: they are kept only while they are in use, beyond a number. */
  serve(): void {
    this.#isServing = true;
  }

  /** Closes all subscriptions, and those to come until {@linkcode Topics.close}. */
  endSubscriptions(): void {
    this.#isEnding = true;
    for (const tail of this.#tails) tail.close();
  }

  /**
   * Waits no longer for what is being published: whoever publishes is told. What is published from now on until the topics are closed,
   * such as by lifespans as they end, is waited for for a second at most: nobody is to be kept by a store that is away.
   */
  abandonPublishing(): void {
    this.#givingUp ??= setInterval(() => this.#giveUpAll(), LAST_PATIENCE);
    this.#giveUpAll();
    this.#givenUp.resolve();
  }

  /**
   * Waits for what is being published, for 30 seconds at most, and closes the stores. Topics can be used again afterwards: those in
   * memory are empty.
   */
  async close(): Promise<void> {
    this.endSubscriptions();
    await this.#settle();
    clearInterval(this.#givingUp);
    this.#givingUp = undefined;
    this.#givenUp = Promise.withResolvers();
    const stores = [...this.#stores.values()];
    this.#stores.clear();
    this.#isOpen = this.#isEnding = false;
    await Promise.all(stores.map((store) => store.close()));
  }

  /** Waits for what is being published, until it is given up. */
  async #settle(): Promise<void> {
    if (this.#givingUp !== undefined) this.#giveUpAll();
    const publishing = this.#channels().filter(({ isPublishing }) => isPublishing);
    if (publishing.length === 0) return;
    const timer = setTimeout(() => this.abandonPublishing(), STORE_TIMEOUT);
    // Whoever publishes again what was given up would keep it from being settled.
    await Promise.race([this.#givenUp.promise, Promise.all(publishing.map((channel) => channel.settled()))]);
    clearTimeout(timer);
  }

  #giveUpAll(): void {
    const cause = new Error("Cannot wait for the store any longer: the application stops");
    for (const channel of this.#channels()) channel.giveUp(cause);
  }

  #channels(): TopicRuntime<unknown>[] {
    return Array.from([...this.#declared.values(), ...this.#passing.values()], ({ runtime }) => runtime);
  }

  #storeOf(isDurable: boolean): TopicStore {
    const store = this.#stores.get(isDurable) ?? this.#openStore(isDurable);
    this.#stores.set(isDurable, store);
    return store;
  }

  #find(name: string): Entry | undefined {
    const entry = this.#passing.get(name);
    if (!entry) return this.#declared.get(name);
    this.#passing.delete(name);
    this.#passing.set(name, entry);
    return entry;
  }

  #add(name: string, options: TopicOptions = {}): Entry {
    checkName(name);
    const runtime = new TopicRuntime(name, resolveTopicOptions(options, name), this.#context);
    const entry: Entry = { topic: new Topic(runtime), runtime };
    if (this.#isServing) {
      this.#passing.set(name, entry);
      this.#letGo();
    } else this.#declared.set(name, entry);
    return entry;
  }

  /** Lets go of what was not asked for the longest. It looks at a few at a time, so that many in use cost nothing each time. */
  #letGo(): void {
    for (let looks = 8; looks > 0 && this.#passing.size > this.#maxIdle; looks--) {
      const [oldest] = this.#passing;
      const [name, entry] = oldest!;
      this.#passing.delete(name);
      if (!entry.runtime.isIdle) this.#passing.set(name, entry);
    }
  }
}

function checkName(name: string): void {
  const isText = typeof name === "string" && name.isWellFormed();
  if (isText && name.length > 0 && name.length <= MAX_NAME_LENGTH) return;
  throw new TypeError(`Cannot make a topic: its name must be a text of 1 to ${MAX_NAME_LENGTH} characters`);
}
