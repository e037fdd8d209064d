/** What an application does besides answering requests: it handles messages, and runs crons. */
import { load } from "../base/async_context.ts";
import type { Consumers } from "../work/consumers/consumers.ts";
import type { Redelivery } from "../work/consumers/operate.ts";
import { Crons } from "../work/cron/crons.ts";
import type { DeclareCron } from "../work/cron/options.ts";
import type { TopicsReport } from "../work/cron/record.ts";
import type { AppHandle } from "../http/app_handle.ts";
import { log } from "../log/log.ts";
import { type LogRef, StoreMissingError, type TopicStore } from "../store/topic_store.ts";
import type { ConsumerReport } from "../topics/topic_report.ts";
import type { Topics } from "../topics/topics.ts";

/** What operators do with a consumer of a durable topic. */
export type ConsumerAction = "retry" | "remove";

/** How long handlers may go on after a stop without a server, in milliseconds. */
const GRACE = 10_000;

/** The work of one application. Its code is loaded when there is any. */
export class Work<State> {
  readonly #topics: Topics;
  readonly #crons: Crons<State>;
  #consumers: Consumers | undefined;
  #timer: ReturnType<typeof setTimeout> | undefined;
  /** Whether it was aborted, perhaps before it has begun. */
  #isAborted = false;

  /**
   * Does nothing yet.
   *
   * @param topics The topics, whose consumers work.
   * @param startApp Starts the application.
   */
  constructor(topics: Topics, startApp: () => Promise<void>) {
    this.#topics = topics;
    this.#crons = new Crons({ topics, start: startApp });
  }

  /** Declares a cron. */
  get declareCron(): DeclareCron<State> {
    return this.#crons.declare;
  }

  /** Runs a cron at once, and fails as it does. */
  runCron(name: string): Promise<void> {
    return this.#crons.runNow(name);
  }

  /**
   * Checks that the work can be done. From now on, no more can be declared.
   *
   * @throws {Error} If the store of durable topics cannot work.
   * @throws {TypeError} If a cron has no times.
   */
  async open(): Promise<void> {
    this.#topics.start();
    await this.#topics.open(await this.#crons.check());
  }

  /**
   * Starts all consumers and crons.
   *
   * @throws {TypeError} If a consumer cannot work as it was declared.
   */
  async start(app: AppHandle, state: Readonly<State>): Promise<void> {
    if (this.#topics.consumers.length > 0) {
      const { Consumers } = await load(() => import("../work/consumers/consumers.ts"));
      this.#consumers = await Consumers.start(this.#topics, { app, state });
      if (this.#isAborted) this.#consumers.abort();
    }
    await this.#crons.start(app, state);
  }

  /** Begins nothing new. */
  quiet(): void {
    this.#consumers?.drain();
    this.#crons.end();
  }

  /** Aborts what is being done. */
  abort(): void {
    this.#isAborted = true;
    this.#consumers?.abort();
    this.#crons.abort();
  }

  /** Begins nothing new, and aborts what takes long. Otherwise a server calls {@linkcode abort}. */
  limit(): void {
    this.#crons.end(false);
    this.#consumers?.drain();
    // The application may be starting.
    if (this.#topics.consumers.length > 0) this.#timer ??= setTimeout(() => this.abort(), GRACE);
  }

  /** Waits until all that was begun has ended. */
  async stop(): Promise<void> {
    await Promise.all([this.#consumers?.stop(), this.#crons.stop()]);
    clearTimeout(this.#timer);
    this.#timer = this.#consumers = undefined;
    this.#isAborted = false;
  }

  /** What operators see of topics, consumers and crons. */
  async report(after: string | undefined): Promise<TopicsReport> {
    try {
      return { topics: await this.#topics.report(after, reportConsumers), crons: await this.#crons.report() };
    } catch (error) {
      // An application that has never started shows what is declared.
      if (!(error instanceof StoreMissingError)) throw error;
      log("warn", error.message);
      return { topics: await this.#topics.reportDeclared(), crons: await this.#crons.report(false) };
    }
  }

  /**
   * Redelivers what a consumer of a durable topic has given up, or forgets the consumer.
   *
   * @param action Which of both.
   * @param path The names of the topic and the consumer, with a slash between them.
   * @throws {TypeError} If there is no such consumer.
   */
  async operate(action: ConsumerAction, path: string): Promise<Redelivery | void> {
    const { removeConsumer, retryFailures } = await load(() => import("../work/consumers/operate.ts"));
    const store = this.#topics.storeOf(true);
    return await (action === "retry" ? retryFailures(store, path) : removeConsumer(store, path));
  }
}

async function reportConsumers(store: TopicStore, log: LogRef): Promise<readonly ConsumerReport[]> {
  const { reportConsumers } = await load(() => import("../work/consumers/operate.ts"));
  return await reportConsumers(store, log);
}
