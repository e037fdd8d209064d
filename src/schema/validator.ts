/** Runs schemas: by a compiled check where that can be, by valibot for the faults. */
import { type Check, compileCheck, INVALID } from "./check.ts";
import { type Dataset, runSchema, type Schema } from "./schema.ts";

/** A schema that is ready to run. */
export interface Validator {
  /** Whether it has to be waited for. */
  readonly isAsync: boolean;
  /** Validates a value. The result is a promise only where the schema is async. */
  readonly validate: (value: unknown) => Dataset | Promise<Dataset>;
}

/** Prepares a schema. */
export function toValidator(schema: Schema): Validator {
  return { isAsync: schema.async, validate: schema.async ? (value) => runSchema(schema, value) : checked(schema) };
}

function checked(schema: Schema): (value: unknown) => Dataset {
  const check: Check = compileCheck(schema);
  return (value) => {
    const output = check(value);
    return output === INVALID ? runSchema(schema, value) as Dataset : { value: output };
  };
}
