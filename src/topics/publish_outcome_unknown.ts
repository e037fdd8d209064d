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
