/** Bounds what the replies of one request to the endpoint take up. */

/** In bytes: more than an agent can read. */
const MAX_REPLIES = 4 * 1024 * 1024;

/** What is left for replies, shared by the calls of a batch. */
export class ReplyBudget {
  readonly #isBatch: boolean;
  #left = MAX_REPLIES;

  /**
   * Makes a budget.
   *
   * @param isBatch Whether several calls share it.
   */
  constructor(isBatch: boolean) {
    this.#isBatch = isBatch;
  }

  /** Whether nothing is left, so that it is no use to call more. */
  get isSpent(): boolean {
    return this.#left <= 0;
  }

  /** Takes so many bytes. False where they are too many: then nothing is left for anyone. */
  take(bytes: number): boolean {
    this.#left -= bytes;
    return this.#left >= 0;
  }

  /**
   * Takes so many bytes for the list of tools. A list that is asked for alone is never too large.
   */
  takeList(bytes: number): boolean {
    return !this.#isBatch || this.take(bytes);
  }

  /** Says to the agent what was too large. */
  get refusal(): string {
    return this.#isBatch
      ? `The replies of the batch are larger than ${MAX_REPLIES} bytes together, ask for less at once`
      : `The reply is larger than ${MAX_REPLIES} bytes, ask for less`;
  }
}
