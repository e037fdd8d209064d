/** The error of data that does not fit its topic. */
import type { Issue } from "../errors.ts";

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
