/** The error of a message whose data does not fit the schema of its topic. */
import type { Issue } from "../base/errors.ts";

/**
 * One issue in the data of a message: its path, its code, a message, and what was expected.
 *
 * @ignore
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
  /** All issues that were found. They never contain the data. */
  readonly issues: readonly DataIssue[];

  /** Makes an error of a list of issues. */
  constructor(topic: string, issues: readonly DataIssue[]) {
    const faults = issues.map(({ path, message }) => path.length === 0 ? message : `${message} at "${path.join(".")}"`);
    super(`Cannot publish to the topic "${topic}": the data does not fit the schema, ${faults.join("; ")}`);
    this.issues = issues;
  }
}
