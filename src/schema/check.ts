/**
 * Checks compiled from schemas: they give what valibot gives for a valid value, several times faster, and nothing for an invalid
 * one, whose faults valibot then finds.
 *
 * Only what runs by valibot's own code, of the version that webfw knows, is compiled; any other part is run as it is.
 */
import { compileAction, isGenuine } from "./check_action.ts";
import { conversionOf } from "./rebuild.ts";
import { type Dataset, nodeOf, runSchema, type Schema, type SchemaNode } from "./schema.ts";

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
  if (!check) checks.set(node, check = compile(node));
  return check;
}

function compile(node: SchemaNode): Check {
  const conversion = conversionOf(node);
  if (conversion) {
    const { convert } = conversion;
    const check = compileCheck(conversion.node);
    return (value) => check(convert(value));
  }
  if (!isGenuine(node) || "fallback" in node) return asItIs(node);
  if (node.pipe) return pipeCheck(node.pipe);
  switch (node.type) {
    case "string":
      return (value) => typeof value === "string" ? value : INVALID;
    case "number":
      return (value) => typeof value === "number" && !Number.isNaN(value) ? value : INVALID;
    case "boolean":
      return (value) => typeof value === "boolean" ? value : INVALID;
    case "bigint":
      return (value) => typeof value === "bigint" ? value : INVALID;
    case "null":
      return (value) => value === null ? null : INVALID;
    case "any":
    case "unknown":
      return (value) => value;
    case "picklist":
    case "enum": {
      const options = new Set(node.options);
      return (value) => options.has(value) ? value : INVALID;
    }
    case "object":
      return hasFallback(node.entries) ? asItIs(node) : objectCheck(node.entries ?? {});
    case "array":
      return arrayCheck(compileCheck(node.item!));
    case "union":
      return unionCheck((node.options as SchemaNode[]).map(compileCheck));
    case "optional":
    case "undefinedable":
      return absentCheck(node, (value) => value === undefined);
    case "nullable":
      return absentCheck(node, (value) => value === null);
    case "nullish":
      return absentCheck(node, (value) => value === undefined || value === null);
    case "exact_optional":
      return compileCheck(node.wrapped!);
    default:
      return asItIs(node);
  }
}

function asItIs(node: SchemaNode): Check {
  return (value) => {
    const dataset = runSchema(node, value) as Dataset;
    return dataset.issues ? INVALID : dataset.value;
  };
}

function pipeCheck(steps: NonNullable<SchemaNode["pipe"]>): Check {
  const checks = steps.flatMap((step) => {
    if (step.kind === "metadata") return [];
    return step.kind === "schema" ? compileCheck(step as SchemaNode) : compileAction(step, INVALID);
  });
  if (checks.length === 1) return checks[0]!;
  return (value) => {
    for (let index = 0; index < checks.length; index++) {
      value = checks[index]!(value);
      if (value === INVALID) return INVALID;
    }
    return value;
  };
}

function objectCheck(entries: Readonly<Record<string, SchemaNode>>): Check {
  const keys = Object.keys(entries);
  const parts = keys.map((key) => compileCheck(entries[key]!));
  const missing = keys.map((key) => missingEntry(entries[key]!));
  return (input) => {
    if (typeof input !== "object" || input === null) return INVALID;
    const output: Record<string, unknown> = {};
    for (let index = 0; index < keys.length; index++) {
      const key = keys[index]!;
      let value = (input as Record<string, unknown>)[key];
      if (value === undefined && !(key in input)) {
        const instead = missing[index]!;
        if (instead === LEAVE_OUT) continue;
        if (instead === undefined) return INVALID;
        value = instead();
      }
      const part = parts[index]!(value);
      if (part === INVALID) return INVALID;
      output[key] = part;
    }
    return output;
  };
}

/** An entry that is missing is given its fallback by the object, unchecked. */
function hasFallback(entries: SchemaNode["entries"]): boolean {
  return Object.values(entries ?? {}).some((entry) => "fallback" in entry);
}

const LEAVE_OUT: unique symbol = Symbol("leave out");

/** What stands in for an entry that was not sent: its default, nothing, or undefined where it has to be there. */
function missingEntry(node: SchemaNode): (() => unknown) | typeof LEAVE_OUT | undefined {
  if (node.type !== "optional" && node.type !== "exact_optional" && node.type !== "nullish") return undefined;
  if (node.default === undefined) return LEAVE_OUT;
  const { default: given } = node;
  return () => typeof given === "function" ? given() : given;
}

function arrayCheck(item: Check): Check {
  return (input) => {
    if (!Array.isArray(input)) return INVALID;
    const output: unknown[] = [];
    for (let index = 0; index < input.length; index++) {
      const value = item(input[index]);
      if (value === INVALID) return INVALID;
      output.push(value);
    }
    return output;
  };
}

function unionCheck(options: readonly Check[]): Check {
  return (value) => {
    for (const option of options) {
      const output = option(value);
      if (output !== INVALID) return output;
    }
    return INVALID;
  };
}

/** A schema that may go without a value. A default that is computed may read what valibot hands it, so valibot runs it. */
function absentCheck(node: SchemaNode, isAbsent: (value: unknown) => boolean): Check {
  const { default: given } = node;
  if (typeof given === "function") return asItIs(node);
  const wrapped = compileCheck(node.wrapped!);
  return (value) => {
    if (!isAbsent(value)) return wrapped(value);
    if (given === undefined) return value;
    return isAbsent(given) ? given : wrapped(given);
  };
}
