/** Tasks and cleanups after the last byte of a reply. */
import { deferred } from "../base/async_context.ts";
import { describeError, type Logger } from "../log/log.ts";

export type Task = () => unknown;

/** What a dependency opened for a request. A second call of either method does nothing. */
export interface Opened {
  readonly name: string;
  readonly endsWithHandler: boolean;
  end(): Promise<void>;
  /** Ends it after a failure, and never rejects. The result is the same error, or its own. */
  fail(thrown: unknown): Promise<Failure>;
}

interface QueuedTask {
  readonly run: () => Promise<unknown>;
  /** Whether it also runs after a failure. */
  readonly always: boolean;
}

/** A thrown value. It is wrapped, because it can have a method `then()`. */
export interface Failure {
  readonly thrown: unknown;
}

/** The tasks and cleanups of one request. Each runs in the async context in which it was added. */
export class AfterResponse {
  #tasks: QueuedTask[] = [];
  readonly #cleanups: ((() => Promise<unknown>) | Opened)[] = [];
  readonly #logger: Logger;
  #failure: Failure | undefined;
  #hasFailed = false;
  #endsWithHandler = false;

  constructor(logger: Logger) {
    this.#logger = logger;
  }

  /** Tasks run before the cleanups, which close what they use. `always`: also after a failure. */
  addTask(task: Task, always = false): void {
    this.#tasks.push({ run: deferred(task), always });
  }

  /** Cleanups run in reverse order. */
  addCleanup(cleanup: Task): void {
    this.#cleanups.push(deferred(cleanup));
  }

  /** It ends in the reverse order of the cleanups. */
  addOpened(opened: Opened): void {
    this.#cleanups.push(opened);
    this.#endsWithHandler ||= opened.endsWithHandler;
  }

  /**
   * Last one first. Also throws the failure of a middleware that replied before the handler ended.
   */
  async endWithHandler(): Promise<void> {
    if (this.#failure) throw this.#failure.thrown;
    for (const opened of this.#openedLastFirst()) if (opened.endsWithHandler) await opened.end();
  }

  get awaitsHandler(): boolean {
    return !this.#hasFailed && (this.#endsWithHandler || this.#failure !== undefined);
  }

  /** Ends what dependencies opened, and drops the tasks. A dependency can replace the error. */
  async fail(thrown: unknown): Promise<Failure> {
    this.failLater(thrown);
    this.#hasFailed = true;
    let failure: Failure = { thrown };
    for (const opened of this.#openedLastFirst()) failure = await opened.fail(failure.thrown);
    return this.#failure = failure;
  }

  /** While the handler or stream still runs: what dependencies opened ends by the error later. */
  failLater(thrown: unknown): void {
    this.#failure ??= { thrown };
    this.#tasks = this.#tasks.filter(({ always }) => always);
  }

  /** Runs everything in sequence. Errors are logged, and the rest still runs. */
  async run(): Promise<void> {
    // A task can add another task; a cleanup cannot.
    for (let task; (task = this.#tasks.shift());) await this.#attempt(task.run, "A task after the reply failed");
    for (const cleanup of this.#cleanups.reverse()) {
      if (typeof cleanup === "function") await this.#attempt(cleanup, CLEANUP_FAILED);
      else if (!this.#failure) await this.#attempt(() => cleanup.end(), CLEANUP_FAILED);
      else this.#failure = await this.#failOpened(cleanup, this.#failure.thrown);
    }
  }

  #openedLastFirst(): Opened[] {
    return this.#cleanups.filter((cleanup) => typeof cleanup !== "function").reverse();
  }

  async #failOpened(opened: Opened, thrown: unknown): Promise<Failure> {
    const failure = await opened.fail(thrown);
    if (failure.thrown !== thrown) {
      this.#logger.log("error", CLEANUP_FAILED, { error: describeError(failure.thrown) });
    }
    return failure;
  }

  async #attempt(task: () => unknown, failure: string): Promise<void> {
    try {
      await task();
    } catch (error) {
      this.#logger.log("error", failure, { error: describeError(error) });
    }
  }
}

const CLEANUP_FAILED = "A cleanup failed";

/** The open requests of an application, and the work after their replies. */
export class BackgroundTasks {
  /** Requests without a reply so far. */
  requests = 0;
  /** Whether the server stops, or is about to: replies then close their connections. */
  isEnding = false;
  readonly #running = new Set<Promise<void>>();
  /** Replies in transit, each with the function that ends the wait for it. */
  readonly #unsent = new Map<Promise<void>, () => void>();

  /** `work` must not reject. */
  add(work: Promise<void>): void {
    this.#running.add(work);
    work.finally(() => this.#running.delete(work));
  }

  /** Runs work, which must not reject, when a reply was sent, failed or was abandoned. */
  addAfter(sent: Promise<void>, work: () => Promise<void>): void {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#unsent.set(promise, resolve);
    sent.then(resolve, resolve);
    this.add(promise.then(() => {
      this.#unsent.delete(promise);
      return work();
    }));
  }

  /** Waits until all replies with work after them have been sent. */
  async sent(): Promise<void> {
    await Promise.all(this.#unsent.keys());
  }

  /** Ends the wait for replies in transit: the work after them starts now. */
  abandonReplies(): void {
    for (const resolve of this.#unsent.values()) resolve();
  }

  /** Waits until all work is done, also work that is added meanwhile. */
  async done(): Promise<void> {
    while (this.#running.size > 0) await Promise.all(this.#running);
  }
}

/**
 * Runs the tasks and cleanups of a request once its reply was sent, and returns the reply to send.
 *
 * @param isBuffered Whether the whole body is in memory.
 * @param sent Settles when the server has sent the reply or lost the client; undefined without a
 * server.
 */
export function runAfterResponse(
  response: Response,
  isBuffered: boolean,
  afterResponse: AfterResponse,
  background: BackgroundTasks,
  sent: Promise<void> | undefined,
): Response {
  const run = () => afterResponse.run();
  if (sent) {
    background.addAfter(sent, run);
    return response;
  }
  if (response.body === null || isBuffered) {
    background.add(Promise.resolve().then(run));
    return response;
  }
  const runNow = () => {
    const work = run();
    background.add(work);
    return work;
  };
  return new Response(withEnd(response.body, runNow), response);
}

/** Runs a function at the end of a stream: when it is read, cancelled or broken. */
function withEnd(
  stream: ReadableStream<Uint8Array<ArrayBuffer>>,
  finish: () => Promise<void>,
): ReadableStream<Uint8Array<ArrayBuffer>> {
  const reader = stream.getReader();
  return new ReadableStream({
    async pull(controller) {
      try {
        const { done, value } = await reader.read();
        if (!done) return controller.enqueue(value);
        controller.close();
      } catch (error) {
        controller.error(error);
      }
      await finish();
    },
    async cancel(reason) {
      try {
        await reader.cancel(reason);
      } finally {
        await finish();
      }
    },
  }, { highWaterMark: 0 });
}
