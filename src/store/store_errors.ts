/** The errors of publishing, and of a store that cannot be opened. */
import type { Issue } from "../base/errors.ts";

/**
 * A message was sent to the store, and its outcome is unknown: the store failed or did not answer
 * in time, or the publisher gave up. The message may be stored now, or a little later, or never.
 * Publishing it again with the error's `id` is safe: within the `dedupe` window of the topic it is
 * stored once.
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
 *       // The signal's reason means that the message was not sent.
 *       else if (error !== signal.reason) throw error;
 *     }
 *   }
 * }
 * ```
 *
 * @category Topics
 */
export class PublishOutcomeUnknown extends Error {
  /** The name of the class, for logs. */
  override readonly name = "PublishOutcomeUnknown";
  /** The id to publish the message with again: the publisher's own, or a generated one. */
  readonly id: string;

  /**
   * Makes the error of one message.
   *
   * @param topic The name of the topic.
   * @param id The id to publish the message with again.
   * @param cause Why there is no answer.
   */
  constructor(topic: string, id: string, cause: unknown) {
    super(
      `Cannot tell whether the message was published to the topic "${topic}": publish it again with the id "${id}"`,
      { cause },
    );
    this.id = id;
  }
}

/**
 * One fault in the data of a message: its path, its code, a message, and what was expected.
 *
 * @category Topics
 */
export type DataIssue = Omit<Issue, "in">;

/**
 * The data of a message does not fit the topic's schema. Nothing was published.
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
 *
 * @category Topics
 */
export class InvalidMessageError extends TypeError {
  /** The name of the class, for logs. */
  override readonly name = "InvalidMessageError";
  /** All faults that were found. They never contain the data. */
  readonly issues: readonly DataIssue[];

  /**
   * Makes an error of a list of faults.
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

/**
 * The store can never be opened as it is configured: trying again changes nothing. Nothing was sent
 * to it, so an append that fails with this error has stored nothing.
 */
export class CannotOpenError extends Error {
  /** The name of the class, for logs. */
  override readonly name = "CannotOpenError";

  /**
   * Makes an error without a stack trace: the cause is the configuration, and no line of the
   * program.
   *
   * @param message Why it cannot be opened, and what to do.
   */
  constructor(message: string) {
    super(message);
    this.stack = `${this.name}: ${message}`;
  }
}

/** Nothing is where the store should be, and this program does not make it. */
export class StoreMissingError extends CannotOpenError {}

/** The store is open, and can never do what is asked of it as it is configured. */
export class UnsuitableStoreError extends CannotOpenError {}
