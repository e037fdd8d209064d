// Compares compiled checks with valibot, for random schemas and values, and proves that it would
// notice a difference.

import { type Check, INVALID, toValidator, type Validator } from "../../../../src/schema/check.ts";
import { coerceJson } from "../../../../src/schema/coerce_json.ts";
import { type Dataset, nodeOf, runSchema, type Schema } from "../../../../src/schema/schema.ts";
import { coerceText } from "../../../../src/schema/coerce_text.ts";

import { changed } from "../../describe/json_schema/support/changed_value.ts";
import { outline } from "../../describe/json_schema/support/outline.ts";
import { fittingValue } from "../../support/fitting_value.ts";
import { Random } from "../../support/random.ts";
import { isSame } from "../../support/same_value.ts";
import { randomSchema, randomValue } from "../../support/schemas.ts";
import { commonSchema } from "./common_schema.ts";
import { FAULTS, tamperedCheck } from "./tampering.ts";

const VALUES_PER_SCHEMA = 12;
const ANY = { isPlain: false };

/** The result of a validation, in a form that can be compared. */
export function outcome(run: () => Dataset | Promise<Dataset>): unknown {
  try {
    const { value, issues } = run() as Dataset;
    if (!issues) return { value };
    return issues.map(({ message, path }) => [message, path?.map(({ key }) => key)]);
  } catch (error) {
    return { thrown: String(error) };
  }
}

/** The result of valibot for a value, with all faults if it is invalid. */
export function byValibot(schema: Schema, value: unknown): Dataset {
  const dataset = runSchema(schema, value, true) as Dataset;
  return dataset.issues ? runSchema(schema, value) as Dataset : dataset;
}

/** A comparison under way. */
export class CheckFuzz {
  readonly #random: Random;
  /** How many schemas there were. */
  schemas = 0;
  /** How many values were valid, and how many were not. */
  readonly counts: { valid: number; invalid: number } = { valid: 0, invalid: 0 };
  /** For each fault, the number of checks that had it, and of those that were noticed. */
  readonly faults: ReadonlyMap<string, { given: number; noticed: number }>;

  constructor(seed: number) {
    this.#random = new Random(seed);
    this.faults = new Map(FAULTS.map((fault) => [fault, { given: 0, noticed: 0 }]));
  }

  /** How many values were compared. */
  get values(): number {
    return this.counts.valid + this.counts.invalid;
  }

  /**
   * Compares about this many further values.
   *
   * @throws {Error} If a check and valibot differ.
   */
  run(values: number): void {
    for (const end = this.values + values; this.values < end;) this.#runSchema();
  }

  #runSchema(): void {
    const random = this.#random;
    const declared = random.oneIn(2) ? commonSchema(random, 3) : randomSchema(random, 3, ANY);
    const { schema, adapt } = randomForm(random, declared);
    this.schemas++;
    const { validate } = toValidator(schema);
    const tampered = random.oneIn(4) ? tamperedCheck(random, nodeOf(schema)) : undefined;
    let isNoticed = false;
    for (let turn = 0; turn < VALUES_PER_SCHEMA; turn++) {
      const value = adapt(someValue(random, declared));
      const expected = outcome(() => byValibot(schema, value));
      const given = outcome(() => validate(value));
      if (!isSame(given, expected)) throw difference(schema, value, given, expected);
      this.counts[Array.isArray(expected) ? "invalid" : "valid"]++;
      if (tampered) isNoticed ||= !isSame(outcome(() => throughCheck(tampered.check, schema)(value)), expected);
    }
    if (!tampered) return;
    const count = this.faults.get(tampered.fault)!;
    count.given++;
    if (isNoticed) count.noticed++;
  }
}

/** A schema as it was declared, or adapted to JSON or to text, where it can be. */
function randomForm(random: Random, schema: Schema): { schema: Schema; adapt: (value: unknown) => unknown } {
  const asItIs = (value: unknown): unknown => value;
  try {
    if (random.oneIn(3)) return { schema: coerceJson(schema, "a value"), adapt: asItIs };
    if (random.oneIn(3)) return { schema: coerceText(schema, "a value").schema, adapt: toText };
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
  }
  return { schema, adapt: asItIs };
}

function toText(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(toText);
  return value === undefined || typeof value === "object" ? value : String(value);
}

/** Most values fit roughly, since others are refused before there is much to compare. */
function someValue(random: Random, schema: Schema): unknown {
  if (random.oneIn(4)) return randomValue(random, 3, ANY);
  const value = fittingValue(random, nodeOf(schema));
  return random.oneIn(3) ? changed(value, random) : value;
}

function throughCheck(check: Check, schema: Schema): Validator["validate"] {
  return (value) => {
    const output = check(value);
    return output === INVALID ? runSchema(schema, value) : { value: output };
  };
}

function difference(schema: Schema, value: unknown, given: unknown, expected: unknown): Error {
  const [valueText, givenText, expectedText] = [value, given, expected].map((part) => Deno.inspect(part, { depth: 9 }));
  return new Error(`The check gives ${givenText}, valibot ${expectedText}, for ${valueText} and ${outline(schema)}`);
}
