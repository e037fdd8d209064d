// JSON Schema of random schemas, compared with the behaviour of the server for random values.

import { assert, assertEquals } from "@std/assert";
import { isAlwaysSent, isRequired } from "../../src/describe/json_schema/optionality.ts";
import type { JsonSchema } from "../../src/schema/json_schema.ts";
import { Models } from "../../src/describe/json_schema/models.ts";
import { stringify } from "../../src/http/json.ts";
import { coerceJson } from "../../src/schema/coerce_json.ts";
import { type Dataset, runSchema, type Schema } from "../../src/schema/schema.ts";
import { coerceText, parseNumber } from "../../src/schema/coerce_text.ts";
import { Ajv2020 } from "npm:ajv@^8.20.0/dist/2020.js";
import { Random } from "../unit/support/random.ts";
import { changed } from "../unit/describe/json_schema/support/changed_value.ts";
import { outline } from "../unit/describe/json_schema/support/outline.ts";
import { type Origin, RandomSchemas } from "../unit/describe/json_schema/support/random_schema.ts";

/** Formats are annotations, and the keywords of OpenAPI are not those of JSON Schema. */
const ajv = new Ajv2020({ strict: false, validateFormats: false, ownProperties: true });

const BASES = ["#/$defs/", "#/components/schemas/"] as const;

/** A described schema, ready to judge values. */
function judge(base: string, describe: (models: Models) => JsonSchema): [(value: unknown) => boolean, string] {
  const models = new Models(base);
  const root = describe(models);
  const definitions = models.definitions();
  const holder = base === "#/$defs/" ? { $defs: definitions } : { components: { schemas: definitions } };
  const document = { allOf: [root], ...holder };
  return [ajv.compile(document) as (value: unknown) => boolean, JSON.stringify(document, null, 1)];
}

function outcome(schema: Schema, value: unknown): Dataset {
  return runSchema(schema, value) as Dataset;
}

/** Runs over random schemas, each with several values. */
function fuzz(
  seed: number,
  origin: Origin,
  rounds: number,
  run: (made: ReturnType<RandomSchemas["any"]>, values: () => unknown, base: string) => void,
): void {
  const random = new Random(seed);
  for (let round = 0; round < rounds; round++) {
    const made = new RandomSchemas(random, origin).any(3);
    const values = () => {
      const value = made.make(3);
      return random.oneIn(2) ? value : changed(value, random);
    };
    try {
      run(made, values, random.pick(BASES));
    } catch (error) {
      throw new Error(`round ${round}`, { cause: error });
    }
  }
}

Deno.test("The server accepts the bodies that JSON Schema describes, for random schemas and bodies", () => {
  const counts = { accepted: 0, refused: 0, exact: 0 };
  fuzz(41, "client", 1_200, ({ schema, isExact }, values, base) => {
    const form = coerceJson(schema, "the body");
    const [fits, described] = judge(base, (models) => models.jsonInput(schema, "createBookBody"));
    for (let turn = 0; turn < 10; turn++) {
      const value = values();
      if (value === undefined) continue;
      const json = JSON.stringify(value);
      const isAccepted = outcome(form, JSON.parse(json)).issues === undefined;
      const isDescribed = fits(JSON.parse(json));
      counts[isAccepted ? "accepted" : "refused"]++;
      if (isExact) counts.exact++;
      const isMeant = isDescribed || fits(trimmed(JSON.parse(json)));
      assert(isMeant || !isAccepted, `accepted, but not described: ${json}\n${described}\n${outline(schema)}`);
      assert(
        isAccepted || !isDescribed || !isExact,
        `described, but not accepted: ${json}\n${described}\n${outline(schema)}`,
      );
    }
  });
  assert(counts.accepted > 3_000 && counts.refused > 2_000 && counts.exact > 3_000, JSON.stringify(counts));
});

Deno.test("Replies fit the JSON Schema of the response, for random schemas and results", () => {
  let sent = 0;
  fuzz(42, "handler", 1_200, ({ schema }, values, base) => {
    const [fits, described] = judge(base, (models) => models.jsonOutput(schema, "getBookResponse"));
    for (let turn = 0; turn < 8; turn++) {
      const { value, issues } = outcome(schema, values());
      if (issues || value === undefined) continue;
      const json = stringify(value);
      sent++;
      assert(fits(JSON.parse(json)), `sent, but not described: ${json}\n${described}\n${outline(schema)}`);
    }
  });
  assert(sent > 4_000, `${sent} sent`);
});

Deno.test("The server accepts the parameter texts that JSON Schema describes, for random schemas and texts", () => {
  const random = new Random(43);
  const texts = ["true", "false", "0", "1", "null", "5", "-7", "5.0", "1e3", "05", " 1", "NaN", "1e999", "0x10", ""];
  const counts = { accepted: 0, refused: 0 };
  fuzz(43, "client", 3_000, ({ schema, isExact }, values, base) => {
    if (!isBindable(schema)) return;
    const { schema: form, isList } = coerceText(schema, "the query");
    const [fits, described] = judge(base, (models) => models.jsonInput(schema));
    for (let turn = 0; turn < 8; turn++) {
      const text = () => random.oneIn(2) ? random.pick(texts) : textOf(values());
      const sent = isList ? random.list(2, text) : text();
      const hasNull = [sent].flat().includes("null");
      // The kinds that refuse null see text, of which it is made behind them.
      if (hasNull && outline(schema).includes("non_null")) continue;
      const isAccepted = outcome(form, sent).issues === undefined;
      const isDescribed = readingsOf(sent).some(fits);
      counts[isAccepted ? "accepted" : "refused"]++;
      const told = () => `${JSON.stringify(sent)}\n${described}\n${outline(schema)}`;
      const isMeant = isDescribed || readingsOf(sent).map(trimmed).some(fits);
      assert(isMeant || !isAccepted, `accepted, but not described: ${told()}`);
      // If a schema has null, the text "null" means null, although it is also a text.
      const isClear = isExact && !hasNull;
      assert(isAccepted || !isDescribed || !isClear, `described, but not accepted: ${told()}`);
    }
  });
  assert(counts.accepted > 2_000 && counts.refused > 2_000, JSON.stringify(counts));
});

Deno.test("isRequired and isAlwaysSent agree with the result for undefined, for random schemas", () => {
  const seen = new Map<string, number>();
  const random = new Random(44);
  for (const origin of ["client", "handler"] as const) {
    for (let round = 0; round < 2_000; round++) {
      const { schema, isExact } = new RandomSchemas(random, origin).any(2);
      const { value, issues } = outcome(schema, undefined);
      const told = outline(schema);
      if (isExact) assertEquals(isRequired(schema), issues !== undefined, told);
      if (!issues && value === undefined) assert(!isAlwaysSent(schema), told);
      const fate = issues ? "refused" : value === undefined ? "kept" : "replaced";
      seen.set(fate, (seen.get(fate) ?? 0) + 1);
    }
  }
  assert([...seen.values()].every((count) => count > 10) && seen.size === 3, Deno.inspect(seen));
});

/** The schema describes a trimmed text as if the text had no blanks around it. */
function trimmed(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value), (_key, part) => typeof part === "string" ? part.trim() : part);
}

function isBindable(schema: Schema): boolean {
  try {
    return Boolean(coerceText(schema, "the query"));
  } catch (error) {
    if (error instanceof TypeError) return false;
    throw error;
  }
}

function textOf(value: unknown): string {
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}

/**
 * The readings of a text: itself, a number, a boolean, null. For a list, the readings of each text,
 * and null for "null" alone.
 */
function readingsOf(sent: string | readonly string[]): unknown[] {
  if (typeof sent !== "string") {
    const lists = sent.reduce<unknown[][]>(
      (lists, text) => lists.flatMap((list) => readingsOf(text).map((reading) => [...list, reading])),
      [[]],
    );
    return sent.length === 1 && sent[0] === "null" ? [...lists, null] : lists;
  }
  const number = parseNumber(sent);
  return [
    sent,
    ...typeof number === "number" ? [number] : [],
    ...["true", "1"].includes(sent) ? [true] : [],
    ...["false", "0"].includes(sent) ? [false] : [],
    ...sent === "null" ? [null] : [],
  ];
}
