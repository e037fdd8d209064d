/** Dependencies that have yielded a value: how they end. */
import { deferred } from "../base/async_context.ts";
import { isHTTPError } from "../base/errors.ts";
import type { Failure, Opened } from "../http/after_response.ts";
import { isThrownReply } from "../http/reply.ts";
import { describeError, type Logger } from "../log/log.ts";

/** Resumes a generator after its `yield`, by an error where there is one. */
type Resume = (failure: Failure | undefined) => Promise<IteratorResult<unknown, void>>;

/** A dependency between its `yield` and its end. It ends in the async context in which it began. */
export class OpenDependency implements Opened {
  readonly endsWithHandler: boolean;
  readonly #name: string;
  readonly #generator: AsyncGenerator<unknown, void, void>;
  readonly #resume: Resume;
  readonly #logger: Logger;
  #hasEnded = false;

  /**
   * @param name Its name in messages.
   * @param generator Has yielded once.
   * @param endsWithHandler Whether it ends before the reply is sent.
   * @param logger Writes an error that another one replaces.
   */
  constructor(
    name: string,
    generator: AsyncGenerator<unknown, void, void>,
    endsWithHandler: boolean,
    logger: Logger,
  ) {
    this.endsWithHandler = endsWithHandler;
    this.#name = name;
    this.#generator = generator;
    this.#resume = deferred((failure) => failure ? generator.throw(failure.thrown) : generator.next());
    this.#logger = logger;
  }

  async end(): Promise<void> {
    if (this.#hasEnded) return;
    this.#hasEnded = true;
    // next() rather than return(), because it also runs code that is not in a finally block.
    if (!(await this.#resume(undefined)).done) throw await this.#yieldedAgain();
  }

  async fail(thrown: unknown): Promise<Failure> {
    const failure: Failure = { thrown };
    if (this.#hasEnded) return failure;
    this.#hasEnded = true;
    try {
      if ((await this.#resume(failure)).done) return failure;
      throw await this.#yieldedAgain(failure);
    } catch (error) {
      if (error !== thrown) this.#logReplaced(thrown, error);
      return { thrown: error };
    }
  }

  async #yieldedAgain(failure?: Failure): Promise<TypeError> {
    await this.#generator.return();
    const when = failure ? " after an error" : "";
    return new TypeError(
      `Cannot clean up the dependency "${this.#name}": it yielded more than once${when}, yield one value`,
      failure ? { cause: failure.thrown } : {},
    );
  }

  /** The log gets the error of the reply alone: another fault behind it would be lost. */
  #logReplaced(thrown: unknown, error: unknown): void {
    if (isExpected(thrown) || isExpected(error) || isCauseOf(thrown, error)) return;
    this.#logger.log("error", "A dependency failed after another error", {
      dependency: this.#name,
      error: describeError(thrown),
    });
  }
}

/** Whether an error is the answer to a client: a refusal of a guard, say. */
export function isExpected(thrown: unknown): boolean {
  return isThrownReply(thrown) || (isHTTPError(thrown) && thrown.status < 500);
}

function isCauseOf(thrown: unknown, error: unknown): boolean {
  const seen = new Set<unknown>();
  try {
    for (let cause = error; cause instanceof Error && !seen.has(cause); cause = cause.cause) {
      if (cause.cause === thrown) return true;
      seen.add(cause);
    }
  } catch {
    // A proxy may throw for any operation.
  }
  return false;
}
