import { type Dataset, nodeOf, runAction, runSchema, type Schema, type SchemaNode } from "./schema.ts";
import { type ActionNode, isStockValibot, testOf } from "./standard_check.ts";
import { preprocessingOf } from "./map_schema.ts";

/** Writes the source of a check: straight code for a schema, with valibot called for what it is not known how to write. */

/** The names that the source refers to, beside the value `input`. */
export const NAMES = ["values", "INVALID", "runSchema", "runAction", "check"] as const;

/** Deeper parts are checks of their own, so that no source grows without bound. */
const MAX_DEPTH = 6;

const FAIL = "return INVALID;";

/** A source in the making. Values that cannot be written down are kept beside it. */
export class CheckSource {
  /** What `values[n]` stands for. */
  readonly values: unknown[] = [];
  #lines: string[] = [];
  #names = 0;

  /** The body of a function of `input` that returns the schema's output, or INVALID. */
  static of(node: SchemaNode): { body: string; values: readonly unknown[] } {
    const source = new CheckSource();
    const output = source.#schema(node, "input", 0);
    return { body: `${source.#lines.join("\n")}\nreturn ${output};`, values: source.values };
  }

  /** Writes the check of one schema; gives the expression of its output. */
  #schema(node: SchemaNode, input: string, depth: number): string {
    const conversion = preprocessingOf(node);
    if (conversion) {
      const converted = this.#let(`${this.#value(conversion.convert)}(${input})`);
      return this.#schema(conversion.node, converted, depth);
    }
    if (!isStockValibot(node) || "fallback" in node) return this.#asItIs(node, input);
    if (node.pipe) return this.#pipe(node, input, depth);
    switch (node.type) {
      case "string":
      case "boolean":
      case "bigint":
        return this.#unless(`typeof ${input} === "${node.type}"`, input);
      case "number":
        return this.#unless(`typeof ${input} === "number" && !Number.isNaN(${input})`, input);
      case "null":
        return this.#unless(`${input} === null`, input);
      case "any":
      case "unknown":
        return input;
      case "picklist":
      case "enum":
        return this.#unless(`${this.#value(new Set(node.options))}.has(${input})`, input);
      case "object":
        return this.#object(node, input, depth);
      case "array":
        return this.#array(node, input, depth);
      case "union":
        return this.#union(node, input);
      case "optional":
      case "undefinedable":
        return this.#absent(node, `${input} === undefined`, input, depth);
      case "nullable":
        return this.#absent(node, `${input} === null`, input, depth);
      case "nullish":
        return this.#absent(node, `${input} === undefined || ${input} === null`, input, depth);
      case "exact_optional":
        return this.#schema(node.wrapped!, input, depth);
      default:
        return this.#asItIs(node, input);
    }
  }

  #asItIs(part: SchemaNode | ActionNode, input: string): string {
    const run = part.kind === "schema" ? "runSchema" : "runAction";
    const dataset = this.#let(`${run}(${this.#value(part)}, ${input})`);
    return `${this.#unless(`!${dataset}.issues`, dataset)}.value`;
  }

  #pipe({ pipe = [] }: SchemaNode, input: string, depth: number): string {
    let output = input;
    for (const step of pipe) {
      if (step.kind === "schema") output = this.#schema(step as SchemaNode, output, depth);
      else if (step.kind !== "metadata") output = this.#action(step as ActionNode, output);
    }
    return output;
  }

  #action(action: ActionNode, input: string): string {
    const standard = testOf(action);
    if (standard) {
      const test = `${this.#value(standard.test)}(${input})`;
      return this.#unless(standard.shortcut ? `${standard.shortcut(input)} || ${test}` : test, input);
    }
    const test = isStockValibot(action) ? this.#test(action, input) : undefined;
    return test === undefined ? this.#let(this.#asItIs(action, input)) : this.#unless(test, input);
  }

  #test({ type, requirement }: ActionNode, input: string): string | undefined {
    const bound = Number.isFinite(requirement) ? String(requirement) : this.#value(requirement);
    switch (type) {
      case "integer":
        return `Number.isInteger(${input})`;
      case "min_length":
        return `!(${input}.length < ${bound})`;
      case "max_length":
        return `!(${input}.length > ${bound})`;
      case "min_value":
        return `${input} >= ${bound}`;
      case "max_value":
        return `${input} <= ${bound}`;
      case "regex":
        // One that keeps its place tells something else the next time.
        return (requirement as RegExp).global || (requirement as RegExp).sticky ? undefined : `${bound}.test(${input})`;
      default:
        return undefined;
    }
  }

  #object(node: SchemaNode, input: string, depth: number): string {
    const entries = Object.entries(node.entries ?? {});
    // A fallback stands in for a missing entry unchecked; "__proto__" means something else in an object's source.
    if (entries.some(([key, entry]) => "fallback" in entry || key === "__proto__")) return this.#asItIs(node, input);
    if (depth >= MAX_DEPTH) return this.#call(node, input);
    this.#unless(`typeof ${input} === "object" && ${input} !== null`, input);
    const output = this.#let("{}");
    for (const [key, entry] of entries) {
      const name = JSON.stringify(key);
      const value = this.#let(`${input}[${name}]`);
      const isMissing = `${value} === undefined && !(${name} in ${input})`;
      const canMiss = entry.type === "optional" || entry.type === "exact_optional" || entry.type === "nullish";
      if (!canMiss) this.#write(`if (${isMissing}) ${FAIL}`);
      else if (entry.default !== undefined) this.#write(`if (${isMissing}) ${value} = ${this.#default(entry)};`);
      if (canMiss && entry.default === undefined) this.#write(`if (!(${isMissing})) {`);
      this.#write(`${output}[${name}] = ${this.#schema(entry, value, depth + 1)};`);
      if (canMiss && entry.default === undefined) this.#write("}");
    }
    return output;
  }

  #default({ default: given }: SchemaNode): string {
    return this.#value(given) + (typeof given === "function" ? "()" : "");
  }

  #array(node: SchemaNode, input: string, depth: number): string {
    if (depth >= MAX_DEPTH) return this.#call(node, input);
    this.#unless(`Array.isArray(${input})`, input);
    const output = this.#let("[]");
    const index = this.#name();
    this.#write(`for (let ${index} = 0; ${index} < ${input}.length; ${index}++) {`);
    const item = this.#let(`${input}[${index}]`);
    this.#write(`${output}.push(${this.#schema(node.item!, item, depth + 1)});`);
    this.#write("}");
    return output;
  }

  /** The first option that takes the value. */
  #union(node: SchemaNode, input: string): string {
    const output = this.#let("INVALID");
    for (const option of node.options as SchemaNode[]) {
      this.#write(`if (${output} === INVALID) ${output} = check(${this.#value(option)}, ${input});`);
    }
    return this.#unless(`${output} !== INVALID`, output);
  }

  /** A schema that may go without a value. A default that is computed may read what valibot hands it, so valibot runs it. */
  #absent(node: SchemaNode, isAbsent: string, input: string, depth: number): string {
    const { default: given } = node;
    if (typeof given === "function") return this.#asItIs(node, input);
    const output = this.#let(input);
    if (given !== undefined) {
      this.#write(`if (${isAbsent.replaceAll(input, output)}) ${output} = ${this.#value(given)};`);
    }
    this.#write(`if (!(${isAbsent.replaceAll(input, output)})) {`);
    this.#write(`${output} = ${this.#schema(node.wrapped!, output, depth)};`);
    this.#write("}");
    return output;
  }

  #call(node: SchemaNode, input: string): string {
    const output = this.#let(`check(${this.#value(node)}, ${input})`);
    return this.#unless(`${output} !== INVALID`, output);
  }

  #unless(condition: string, output: string): string {
    this.#write(`if (!(${condition})) ${FAIL}`);
    return output;
  }

  #let(expression: string): string {
    const name = this.#name();
    this.#write(`let ${name} = ${expression};`);
    return name;
  }

  #value(value: unknown): string {
    return `values[${this.values.push(value) - 1}]`;
  }

  #name(): string {
    return `v${this.#names++}`;
  }

  #write(line: string): void {
    this.#lines.push(line);
  }
}

/**
 * Checks compiled from schemas: they give what valibot gives for a valid value, several times
 * faster, and nothing for an invalid one, whose faults valibot then finds. Like valibot that is
 * asked for one fault, they end at the first.
 *
 * Only what runs by valibot's own code, of the version that webfw knows, is compiled; any other
 * part is run as it is. Where a program may not make code from text (V8's
 * `--disallow-code-generation-from-strings`), valibot runs all of it.
 */

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
  return runSchema(node, value, true) as Dataset;
}

/** Runs schemas: by a compiled check where that can be, by valibot for the faults. */

/** A schema that is ready to run. */
export interface Validator {
  /** Whether it has to be waited for. */
  readonly isAsync: boolean;
  /** Gives the output for a value, or `INVALID`. An async schema has none: this refuses whatever it is given. */
  readonly check: Check;
  /**
   * Validates a value and lists its faults. The result is a promise only where the schema is async.
   */
  readonly validate: (value: unknown, abortEarly?: boolean) => Dataset | Promise<Dataset>;
}

/** Prepares a schema. */
export function toValidator(schema: Schema): Validator {
  if (schema.async) {
    return {
      isAsync: true,
      check: () => INVALID,
      validate: (value, abortEarly) => runSchema(schema, value, abortEarly),
    };
  }
  const check = compileCheck(schema);
  const validate = (value: unknown, abortEarly?: boolean): Dataset => {
    const output = check(value);
    return output === INVALID ? runSchema(schema, value, abortEarly) as Dataset : { value: output };
  };
  return { isAsync: false, check, validate };
}
