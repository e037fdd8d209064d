/**
 * Checks compiled from schemas: they give what valibot gives for a valid value, several times
 * faster, and nothing for an invalid one, whose faults valibot then finds. Like valibot that is
 * asked for one fault, they end at the first.
 *
 * Only what runs by valibot's own code, of the version that webfw knows, is compiled; any other
 * part is run as it is. Where a program may not make code from text (V8's
 * `--disallow-code-generation-from-strings`), valibot runs all of it.
 */
import { CheckSource, NAMES } from "./check_source.ts";
import { type Dataset, nodeOf, runAction, runSchema, type Schema, type SchemaNode } from "./schema.ts";

/** Stands for a value that is not valid. */
export const INVALID: unique symbol = Symbol("invalid");

/** Gives the schema's output for a value, or {@linkcode INVALID}. */
export type Check = (value: unknown) => unknown;

const checks = new WeakMap<SchemaNode, Check>();

/**
 * Compiles a schema.
 *
 * @param schema A schema that is not async.
 */
export function compileCheck(schema: Schema): Check {
  const node = nodeOf(schema);
  let check = checks.get(node);
  if (!check) checks.set(node, check = generate(node) ?? asItIs(node));
  return check;
}

/**
 * Makes code of the source of a check.
 *
 * @throws {EvalError} Where a program may not.
 */
export function makeCheck({ body, values }: ReturnType<typeof CheckSource.of>): Check {
  // All that is written into the source are numbers, the names of kinds, and keys as JSON.
  const make = new Function(...NAMES, `return (input) => {\n${body}\n};`);
  return make(values, INVALID, runFirst, runAction, (part: SchemaNode, value: unknown) => compileCheck(part)(value));
}

function generate(node: SchemaNode): Check | undefined {
  try {
    return makeCheck(CheckSource.of(node));
  } catch (error) {
    if (error instanceof EvalError) return undefined;
    throw error;
  }
}

function asItIs(node: SchemaNode): Check {
  return (value) => {
    const dataset = runFirst(node, value);
    return dataset.issues ? INVALID : dataset.value;
  };
}

/**
 * A check only tells whether a value is valid, so it never makes valibot look for a second fault.
 */
function runFirst(node: SchemaNode, value: unknown): Dataset {
  return runSchema(node, value, "first") as Dataset;
}
