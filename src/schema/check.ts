/**
 * Compiled checks of schemas. They return valibot's output for a valid value, several times faster;
 * for an invalid one, valibot lists the issues.
 *
 * Only the code of the valibot that this module imports is compiled. valibot runs other parts, and
 * everything if code generation is off (V8's `--disallow-code-generation-from-strings`).
 */
import { preprocessingOf } from "./map_schema.ts";
import { type Dataset, nodeOf, type PipeAction, runAction, runSchema, type Schema, type SchemaNode } from "./schema.ts";
import { isFiniteNumber, isStockValibot, testOf } from "./standard_check.ts";

/** The output for an invalid value. */
export const INVALID: unique symbol = Symbol("invalid");

/** Returns the output, or {@linkcode INVALID}. */
export type Check = (value: unknown) => unknown;

export interface Validator {
  readonly isAsync: boolean;
  /** Always `INVALID` for an async schema. */
  readonly check: Check;
  /** Lists all issues, or the first one. Async schemas return a promise. */
  readonly validate: (value: unknown, abortEarly?: boolean) => Dataset | Promise<Dataset>;
}

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

const checks = new WeakMap<SchemaNode, Check>();

export function compileCheck(schema: Schema): Check {
  return checks.getOrInsertComputed(nodeOf(schema), (node) => generate(node) ?? runByValibot(node));
}

/** @throws {EvalError} If code generation is off. */
export function makeCheck({ body, values }: ReturnType<typeof CheckSource.of>): Check {
  // The source contains no strings from outside except keys, as JSON.
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

function runByValibot(node: SchemaNode): Check {
  return (value) => {
    const dataset = runFirst(node, value);
    return dataset.issues ? INVALID : dataset.value;
  };
}

function runFirst(node: SchemaNode, value: unknown): Dataset {
  return runSchema(node, value, true) as Dataset;
}

/** Of the generated code, besides `input`. */
const NAMES = ["values", "INVALID", "runSchema", "runAction", "check"] as const;

/** Deeper schemas are separate checks: bounds the size of the source. */
const MAX_DEPTH = 6;

const FAIL = "return INVALID;";

/** Writes the source of a check. It reads values without a source form as `values[n]`. */
export class CheckSource {
  readonly values: unknown[] = [];
  #lines: string[] = [];
  #names = 0;

  /** The body of a function from `input` to the output or INVALID. */
  static of(node: SchemaNode): { body: string; values: readonly unknown[] } {
    const source = new CheckSource();
    const output = source.#schema(node, "input", 0);
    return { body: `${source.#lines.join("\n")}\nreturn ${output};`, values: source.values };
  }

  /** Writes a check, and returns an expression of its output, as all methods do. */
  #schema(node: SchemaNode, input: string, depth: number): string {
    const preprocessing = preprocessingOf(node);
    if (preprocessing) {
      const converted = this.#let(`${this.#value(preprocessing.convert)}(${input})`);
      return this.#schema(preprocessing.node, converted, depth);
    }
    if (isFiniteNumber(node)) return this.#unless(`typeof ${input} === "number" && Number.isFinite(${input})`, input);
    if (!isStockValibot(node) || "fallback" in node) return this.#byValibot(node, input);
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
        return this.#byValibot(node, input);
    }
  }

  #byValibot(part: SchemaNode | PipeAction, input: string): string {
    const run = part.kind === "schema" ? "runSchema" : "runAction";
    const dataset = this.#let(`${run}(${this.#value(part)}, ${input})`);
    return `${this.#unless(`!${dataset}.issues`, dataset)}.value`;
  }

  #pipe({ pipe = [] }: SchemaNode, input: string, depth: number): string {
    let output = input;
    for (const step of pipe) {
      if (step.kind === "schema") output = this.#schema(step as SchemaNode, output, depth);
      else if (step.kind !== "metadata") output = this.#action(step as PipeAction, output);
    }
    return output;
  }

  #action(action: PipeAction, input: string): string {
    const standard = testOf(action);
    if (standard) {
      const test = `${this.#value(standard.test)}(${input})`;
      return this.#unless(standard.shortcut ? `${standard.shortcut(input)} || ${test}` : test, input);
    }
    const test = isStockValibot(action) ? this.#test(action, input) : undefined;
    return test === undefined ? this.#let(this.#byValibot(action, input)) : this.#unless(test, input);
  }

  #test({ type, requirement }: PipeAction, input: string): string | undefined {
    const bound = Number.isFinite(requirement) ? String(requirement) : this.#value(requirement);
    switch (type) {
      case "integer":
        return `Number.${requirement === Number.isSafeInteger ? "isSafeInteger" : "isInteger"}(${input})`;
      case "min_length":
        return `!(${input}.length < ${bound})`;
      case "max_length":
        return `!(${input}.length > ${bound})`;
      case "min_value":
        return `${input} >= ${bound}`;
      case "max_value":
        return `${input} <= ${bound}`;
      case "regex":
        // Global and sticky regular expressions have a state.
        return (requirement as RegExp).global || (requirement as RegExp).sticky ? undefined : `${bound}.test(${input})`;
      default:
        return undefined;
    }
  }

  #object(node: SchemaNode, input: string, depth: number): string {
    const entries = Object.entries(node.entries ?? {});
    // A fallback replaces a missing entry without a check. `__proto__` would set the prototype.
    if (entries.some(([key, entry]) => "fallback" in entry || key === "__proto__")) return this.#byValibot(node, input);
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

  #default({ default: value }: SchemaNode): string {
    return this.#value(value) + (typeof value === "function" ? "()" : "");
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

  #union(node: SchemaNode, input: string): string {
    const output = this.#let("INVALID");
    for (const option of node.options as SchemaNode[]) {
      this.#write(`if (${output} === INVALID) ${output} = check(${this.#value(option)}, ${input});`);
    }
    return this.#unless(`${output} !== INVALID`, output);
  }

  /** For schemas that accept absent values. valibot calls a default that is a function. */
  #absent(node: SchemaNode, isAbsent: string, input: string, depth: number): string {
    const { default: value } = node;
    if (typeof value === "function") return this.#byValibot(node, input);
    const output = this.#let(input);
    if (value !== undefined) {
      this.#write(`if (${isAbsent.replaceAll(input, output)}) ${output} = ${this.#value(value)};`);
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
