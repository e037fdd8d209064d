/** What is left to do when the last byte of a reply has gone. */
import { describeError, log } from "../log.ts";

/**
 * How many chunks of streamed replies clients have read from this process. A server that stops
 * looks whether the number still grows.
 */
export const taken = { chunks: 0 };

/** Work to be done, with or without waiting for it. */
export type Task = () => unknown;

/** The work that is left of one request: tasks in the order given, then cleanups in reverse. */
export class Completion {
  readonly #tasks: Task[] = [];
  readonly #cleanups: Task[] = [];
  /** The reply that was built whole: no byte of it is still to be made. */
  whole: Response | undefined;

  /** Adds a task. Tasks run first, so that they can use what the cleanups end. */
  addTask(task: Task): void {
    this.#tasks.push(task);
  }

  /** Adds a cleanup. */
  addCleanup(cleanup: Task): void {
    this.#cleanups.push(cleanup);
  }

  /** Does all of it, one after another. What throws is logged, and the others still run. */
  async run(): Promise<void> {
    for (const task of this.#tasks) {
      await attempt(task, "A task after the reply failed");
    }
    // Work that a task adds comes after it; a cleanup cannot add any.
    for (const cleanup of this.#cleanups.reverse()) {
      await attempt(cleanup, "A cleanup failed");
    }
  }
}

/** What is under way in an application: requests, and the work after their replies. */
export class PendingWork {
  /** How many requests have no reply yet. */
  requests = 0;
  readonly #running = new Set<Promise<void>>();
  /** The waits for replies that are being sent, with what ends each. */
  readonly #unsent = new Map<Promise<void>, () => void>();

  /** Keeps work until it is over. It must not fail. */
  add(work: Promise<void>): void {
    this.#running.add(work);
    work.finally(() => this.#running.delete(work));
  }

  /**
   * Does work when a reply has been sent, or cannot be any more, or is given up.
   *
   * @param sent Settles when the server has sent the reply or lost the client.
   * @param work The work. It must not fail.
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

  /** Waits until the replies that leave work have been sent. */
  async sent(): Promise<void> {
    await Promise.all(this.#unsent.keys());
  }

  /** Waits for no reply any more that is being sent: the work after it is done now. */
  giveUpReplies(): void {
    for (const resolve of this.#unsent.values()) resolve();
  }

  /** Waits until the work after replies is done. */
  async settled(): Promise<void> {
    while (this.#running.size > 0) await Promise.all(this.#running);
  }
}

/**
 * Runs what is left once a reply has been sent.
 *
 * @param response The reply.
 * @param completion What is left.
 * @param pending Gets the work.
 * @param sent Settles when the server has sent the reply or lost the client; absent where no server sends it.
 * @returns The reply to send in its place.
 */
export function completeAfter(
  response: Response,
  completion: Completion,
  pending: PendingWork,
  sent: Promise<void> | undefined,
): Response {
  const finish = () => completion.run();
  if (sent) {
    pending.addAfter(sent, finish);
    return response;
  }
  if (response.body === null || response === completion.whole) {
    pending.add(Promise.resolve().then(finish));
    return response;
  }
  return new Response(
    endingWith(response.body, () => {
      const work = finish();
      pending.add(work);
      return work;
    }),
    response,
  );
}

/** A stream that tells its end: read out, cancelled or broken. */
function endingWith(
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

async function attempt(task: Task, failure: string): Promise<void> {
  try {
    await task();
  } catch (error) {
    log("error", failure, { error: describeError(error) });
  }
}
