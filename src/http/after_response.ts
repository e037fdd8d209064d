/** What an application does after the last byte of a reply: tasks and cleanups. */
import { describeError, type Logger } from "../log.ts";

/** The streamed replies of this process. */
export const streamProgress = {
  /**
   * How many chunks clients have read. A server that stops watches whether the number still grows.
   */
  chunks: 0,
  /** How many are open. */
  open: 0,
};

/** A function whose result is ignored. */
export type Task = () => unknown;

/** The tasks and cleanups of one request. */
export class AfterResponse {
  readonly #tasks: Task[] = [];
  readonly #cleanups: Task[] = [];
  readonly #logger: Logger;

  /** @param logger Writes what fails. */
  constructor(logger: Logger) {
    this.#logger = logger;
  }

  /** Adds a task. Tasks run before the cleanups, so they can use what the cleanups close. */
  addTask(task: Task): void {
    this.#tasks.push(task);
  }

  /** Adds a cleanup. Cleanups run in reverse order. */
  addCleanup(cleanup: Task): void {
    this.#cleanups.push(cleanup);
  }

  /** Runs everything, one after another. Errors are logged, and the rest still runs. */
  async run(): Promise<void> {
    // A task may add another task; a cleanup cannot add any.
    for (const task of this.#tasks) await this.#attempt(task, "A task after the reply failed");
    for (const cleanup of this.#cleanups.reverse()) await this.#attempt(cleanup, "A cleanup failed");
  }

  async #attempt(task: Task, failure: string): Promise<void> {
    try {
      await task();
    } catch (error) {
      this.#logger.log("error", failure, { error: describeError(error) });
    }
  }
}

/** Everything an application has under way: open requests, and the work after their replies. */
export class BackgroundTasks {
  /** The number of requests without a reply so far. */
  requests = 0;
  /** Whether the server stops or is about to, so that clients shall open no more connections. */
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
 * @param response The reply.
 * @param isBuffered Whether its body was made at once and not as a stream.
 * @param afterResponse The tasks and cleanups.
 * @param background Keeps the work until it is done.
 * @param sent Settles when the server has sent the reply or lost the client; undefined if the
 * request did not come from a server.
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
