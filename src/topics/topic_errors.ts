import type { Issue } from "../errors.ts";

/** The error of a publish that was not answered. */

/**
 * A publish was given up, or failed, after it had been sent to the store: the message may be stored, now or a little later, or
 * not. Publishing it again with the error's `id` is safe: within the time that ids are remembered it is stored once.
 *
 * @example Publishing again
 * ```ts
 * import { PublishOutcomeUnknown, type Topic } from "@webfw/core";
 *
 * async function publishForSure(topic: Topic<string>, data: string): Promise<string> {
 *   for (let id: string | undefined;;) {
 *     const signal = AbortSignal.timeout(2_000);
 *     try {
 *       const published = await topic.publish(data, id === undefined ? { signal } : { id, signal });
 *       return published.id;
 *     } catch (error) {
 *       if (error instanceof PublishOutcomeUnknown) id = error.id;
 *       // The signal's reason: it was not even sent.
 *       else if (error !== signal.reason) throw error;
 *     }
 *   }
 * }
 * ```
 */
export class PublishOutcomeUnknown extends Error {
  /** The name of the class, for logs. */
  override readonly name = "PublishOutcomeUnknown";
  /** The id to publish the message with again: the one that was given, or one that was made for it. */
  readonly id: string;

  /**
   * Makes an error of one message.
   *
   * @param topic The name of the topic.
   * @param id The id of the message, as its publisher knows it.
   * @param cause Why there is no answer.
   */
  constructor(topic: string, id: string, cause: unknown) {
    super(
      `Cannot tell whether the message was published to the topic "${topic}": publish it again with the id "${id}"`,
      {
        cause,
      },
    );
    this.id = id;
  }
}

/** The error of data that does not fit its topic. */

/**
 * One fault in data: the way to the value, whether it is missing, what is wrong with it, and what
 * was expected.
 */
export type DataIssue = Omit<Issue, "in">;

/**
 * What was to be published does not fit the topic's schema. Nothing was published.
 *
 * @example What is wrong with it
 * ```ts
 * import { App, InvalidMessageError } from "@webfw/core";
 * import { assertEquals, assertRejects } from "@std/assert";
 * import * as v from "valibot";
 *
 * const topic = new App().topic("prices", { schema: v.object({ price: v.number() }) });
 * const error = await assertRejects(() => topic.publish({ price: "3" as unknown as number }), InvalidMessageError);
 * const [issue] = error.issues;
 * assertEquals([issue?.path, issue?.code, issue?.message], [["price"], "invalid", "Invalid type: expected number"]);
 * ```
 */
export class InvalidMessageError extends TypeError {
  /** The name of the class, for logs. */
  override readonly name = "InvalidMessageError";
  /** All faults that were found. They never hold the data. */
  readonly issues: readonly DataIssue[];

  /**
   * Makes an error from a list of faults.
   *
   * @param topic The name of the topic.
   * @param issues All faults that were found.
   */
  constructor(topic: string, issues: readonly DataIssue[]) {
    const faults = issues.map(({ path, message }) => path.length === 0 ? message : `${message} at "${path.join(".")}"`);
    super(`Cannot publish to the topic "${topic}": the data does not fit the schema, ${faults.join("; ")}`);
    this.issues = issues;
  }
}

/** The error of a store that cannot be opened. */

/**
 * The store can never be opened as it is configured, so that trying again changes nothing. Nothing was asked of it: whoever gets
 * this from an append has appended nothing.
 */
export class CannotOpenError extends Error {
  /** The name of the class, for logs. */
  override readonly name = "CannotOpenError";

  /**
   * Its message says why, and what to do.
   *
   * @param message The message.
   */
  constructor(message: string) {
    super(message);
    // It is no fault of a line of the program: where it came from within the framework would only
    // hide the message.
    this.stack = `${this.name}: ${message}`;
  }
}
