/** Runs schemas: by a compiled check where that can be, by valibot for the faults. */
import { type Check, compileCheck, INVALID } from "./check.ts";
import { type Dataset, runSchema, type Schema } from "./schema.ts";

/** A schema that is ready to run. */
export interface Validator {
  /** Whether it has to be waited for. */
  readonly isAsync: boolean;
  /** Gives the output for a value, or `INVALID`. An async schema has none: this refuses whatever it is given. */
  readonly check: Check;
  /** Validates a value and tells its faults. The result is a promise only where the schema is async. */
  readonly validate: (value: unknown) => Dataset | Promise<Dataset>;
}

/** Prepares a schema. */
export function toValidator(schema: Schema): Validator {
  if (schema.async) return { isAsync: true, check: () => INVALID, validate: (value) => runSchema(schema, value) };
  const check = compileCheck(schema);
  const validate = (value: unknown): Dataset => {
    const output = check(value);
    return output === INVALID ? runSchema(schema, value) as Dataset : { value: output };
  };
  return { isAsync: false, check, validate };
}
