/** Holds the arguments of a call to what the agent was told of them. */
import * as v from "valibot";
import type { InputSource, Issue } from "../../errors.ts";
import { toIssue } from "../../schema/issues.ts";
import { toJsonForm } from "../../schema/json_form.ts";
import type { Dataset, Schema } from "../../schema/schema.ts";
import { toValidator, type Validator } from "../../schema/validator.ts";
import type { ToolArgument } from "./tool_arguments.ts";

/** Finds the faults of an argument. */
export type ArgumentCheck = (value: unknown) => Issue[];

/** A name in the path of which nothing was declared. */
const TEXT: readonly Schema[] = [v.string()];

/**
 * Makes the check of an argument as JSON. Once it is written into a path or query, `5` and `"5"` are the same, and so are a value
 * and a list of it.
 *
 * What has to be waited for is left to the binder of the route.
 *
 * @param argument The argument.
 */
export function checkOf({ name, input }: ToolArgument): ArgumentCheck {
  if (!("in" in input)) return checkBy([input.schema], name, input.name, []);
  return checkBy(input.schemas.length > 0 ? input.schemas : TEXT, name, input.in, [name]);
}

function checkBy(
  schemas: readonly Schema[],
  name: string,
  source: InputSource,
  root: readonly string[],
): ArgumentCheck {
  // Prepared at the first call: most tools are only ever listed.
  let validators: readonly Validator[] | undefined;
  return (value) => {
    validators ??= schemas.map((schema) => toValidator(toJsonForm(schema, `the argument "${name}"`)));
    return validators.filter(({ isAsync }) => !isAsync).flatMap(({ validate }) => {
      const { issues = [] } = validate(value) as Dataset;
      return issues.map((issue) => toIssue(issue, source, root));
    });
  };
}
