/** Response models: handlers' results are validated and reduced to them. */
import { toValidator } from "../../schema/check.ts";
import { summarizeIssues } from "../../schema/issues.ts";
import { toReplySchema } from "../../schema/map_schema.ts";
import { type Dataset, nodeOf, type Schema, type SchemaIssue } from "../../schema/schema.ts";

/**
 * Gives a value without what is not in its model. It is a promise only if the model is async.
 * `what` is the value's name in messages.
 */
export type Reduce = (value: unknown, what?: string) => unknown;

/**
 * Makes the function that validates a value and reduces it to a model. A value that does not fit is
 * a `TypeError`, or a rejection if the model is async.
 *
 * @param model The model.
 * @param route The route, for messages.
 * @param value What the values are, for messages.
 */
export function reducerTo(model: Schema, route: string, value = "the result"): Reduce {
  const { validate } = toValidator(toReplySchema(nodeOf(model)));
  const settle = (dataset: Dataset, what: string): unknown => {
    if (dataset.issues) throw misfit(route, what, dataset.issues);
    return dataset.value;
  };
  return (result, what = value) => {
    const dataset = validate(result);
    return dataset instanceof Promise ? dataset.then((dataset) => settle(dataset, what)) : settle(dataset, what);
  };
}

/** A value that does not match its model: a mistake of the application. */
export class ModelError extends TypeError {}

function misfit(route: string, what: string, issues: readonly SchemaIssue[]): Error {
  const faults = summarizeIssues(issues, what);
  return new ModelError(`Cannot reply to ${route}: ${what} does not fit the response model, ${faults}`);
}
