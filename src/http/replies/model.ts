/** Response models: handlers' results are validated and reduced to them. */
import { toValidator } from "../../schema/check.ts";
import { summarizeIssues } from "../../schema/issues.ts";
import { withStandardChecks } from "../../schema/map_schema.ts";
import { type Dataset, nodeOf, type Schema, type SchemaIssue } from "../../schema/schema.ts";

/** Gives a value without what is not in its model. It is a promise only if the model is async. */
export type Reduce = (value: unknown) => unknown;

/**
 * Makes the function that validates a value and reduces it to a model. A value that does not fit is
 * a `TypeError`, or a rejection if the model is async.
 *
 * @param model The model.
 * @param route The route, for messages.
 */
export function reducerTo(model: Schema, route: string): Reduce {
  const { validate } = toValidator(withStandardChecks(nodeOf(model)));
  const settle = (dataset: Dataset): unknown => {
    if (dataset.issues) throw misfit(route, dataset.issues);
    return dataset.value;
  };
  return (result) => {
    const dataset = validate(result);
    return dataset instanceof Promise ? dataset.then(settle) : settle(dataset);
  };
}

/** The error for a result that does not match the model: a mistake of the application. */
function misfit(route: string, issues: readonly SchemaIssue[]): Error {
  const faults = summarizeIssues(issues, "the result");
  return new TypeError(`Cannot reply to ${route}: the result does not fit the response model, ${faults}`);
}
