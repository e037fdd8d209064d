/** Runs schemas: by a compiled check where that can be, by valibot for the faults. */
import { type Check, compileCheck, INVALID } from "./check.ts";
import { type Dataset, type Detail, runSchema, type Schema } from "./schema.ts";

/** A schema that is ready to run. */
export interface Validator {
  /** Whether it has to be waited for. */
  readonly isAsync: boolean;
  /** Gives the output for a value, or `INVALID`. An async schema has none: this refuses whatever it is given. */
  readonly check: Check;
  /**
   * Validates a value and lists its faults. The result is a promise only where the schema is async.
   */
  readonly validate: (value: unknown, detail?: Detail) => Dataset | Promise<Dataset>;
}

/** Prepares a schema. */
export function toValidator(schema: Schema): Validator {
  if (schema.async) {
    return {
      isAsync: true,
      check: () => INVALID,
      validate: (value, detail) => runSchema(schema, value, detail),
    };
  }
  const check = compileCheck(schema);
  const validate = (value: unknown, detail?: Detail): Dataset => {
    const output = check(value);
    return output === INVALID ? runSchema(schema, value, detail) as Dataset : { value: output };
  };
  return { isAsync: false, check, validate };
}
