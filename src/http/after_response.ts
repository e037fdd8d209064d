/** What an application does after the last byte of a reply: tasks and cleanups. */
import { deferred } from "../base/async_context.ts";
import { describeError, type Logger } from "../log/log.ts";

export type Task = () => unknown;

/** What a dependency has opened for a request. Both methods run once, then do nothing. */
export interface Opened {
  /** Whether it ends before the reply is sent. */
  readonly endsWithHandler: boolean;
  end(): Promise<void>;
  /**
   * Ends it after a failure. It never rejects. The result is the error that goes on: the same one,
   * or its own.
   */
  fail(thrown: unknown): Promise<Failure>;
}

interface QueuedTask {
  readonly run: () => Promise<unknown>;
  /** Whether it also runs after a failure. */
  readonly always: boolean;
}

/** A value that was thrown. It is wrapped, because it can have a method `then()`. */
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

  /**
   * Adds a task. Tasks run before the cleanups, so they can use what the cleanups close. With
   * `always`, it also runs if the request fails later.
   */
  addTask(task: Task, always = false): void {
    this.#tasks.push({ run: deferred(task), always });
  }

  /** Adds a cleanup. Cleanups run in reverse order. */
  addCleanup(cleanup: Task): void {
    this.#cleanups.push(deferred(cleanup));
  }

  /** Adds what a dependency has opened. It ends in the reverse order of the cleanups. */
  addOpened(opened: Opened): void {
    this.#cleanups.push(opened);
    this.#endsWithHandler ||= opened.endsWithHandler;
  }

  /**
   * Ends what ends with the handler, the last one first.
   *
   * @throws {unknown} What one of them throws, or the failure of a middleware that has replied
   * before the handler ended.
   */
  async endWithHandler(): Promise<void> {
    if (this.#failure) throw this.#failure.thrown;
    for (const opened of this.#openedLastFirst()) if (opened.endsWithHandler) await opened.end();
  }

  /** Whether {@linkcode AfterResponse.endWithHandler} has something to do. */
  get awaitsHandler(): boolean {
    return !this.#hasFailed && (this.#endsWithHandler || this.#failure !== undefined);
  }

  /**
   * Ends everything that dependencies have opened, because the request fails before its reply, and
   * drops its tasks. A dependency can replace the error.
   */
  async fail(thrown: unknown): Promise<Failure> {
    this.failLater(thrown);
    this.#hasFailed = true;
    let failure: Failure = { thrown };
    for (const opened of this.#openedLastFirst()) failure = await opened.fail(failure.thrown);
    return this.#failure = failure;
  }

  /**
   * Drops the tasks of a request that fails while its handler or its stream still runs. What
   * dependencies have opened ends by the error after that.
   */
  failLater(thrown: unknown): void {
    this.#failure ??= { thrown };
    this.#tasks = this.#tasks.filter(({ always }) => always);
  }

  /** Runs everything, one after another. Errors are logged, and the rest still runs. */
  async run(): Promise<void> {
    // A task may add another task; a cleanup cannot add any.
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

/** Open requests of an application, and the work after their replies. */
export class BackgroundTasks {
  /** The number of requests without a reply so far. */
  requests = 0;
  /** Whether the server stops or is about to, so that clients should open no more connections. */
  isEnding = false;
  readonly #running = new Set<Promise<void>>();
  /** Replies that are being sent, each with the function that stops waiting for it. */
  readonly #unsent = new Map<Promise<void>, () => void>();

  /** Keeps a promise until it settles. It must not reject. */
  add(work: Promise<void>): void {
    this.#running.add(work);
    work.finally(() => this.#running.delete(work));
  }

  /**
   * Runs work when a reply has been sent, has failed, or is abandoned.
   *
   * @param sent Settles when the server has sent the reply or lost the client.
   * @param work Must not reject.
   */
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

  /** Stops waiting for replies that are being sent: the work after them starts now. */
  abandonReplies(): void {
    for (const resolve of this.#unsent.values()) resolve();
  }

  /** Waits until all work is done, also work that is added meanwhile. */
  async drain(): Promise<void> {
    while (this.#running.size > 0) await Promise.all(this.#running);
  }
}

/**
 * Runs the tasks and cleanups of a request once its reply has been sent.
 *
 * @param isBuffered Whether the body was made at once and not as a stream.
 * @param sent Settles when the server has sent the reply or lost the client; undefined without a
 * server.
 * @returns The reply to send in place of the given one.
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

/** A copy of a stream that runs a function at its end: when it is read, cancelled or broken. */
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
