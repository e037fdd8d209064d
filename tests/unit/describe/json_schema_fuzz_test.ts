import { assert } from "@std/assert";
import type { JsonSchema } from "../../../src/describe/json_schema.ts";
import { Models } from "../../../src/describe/models.ts";
import { stringify } from "../../../src/http/json.ts";
import { toJsonForm } from "../../../src/schema/json_form.ts";
import { type Dataset, runSchema, type Schema } from "../../../src/schema/schema.ts";
import { toTextForm } from "../../../src/schema/text_form.ts";
import { Ajv2020 } from "npm:ajv@^8.20.0/dist/2020.js";
import * as v from "valibot";
import { Random } from "../support/random.ts";
import { changed, type Origin, outline, RandomSchemas } from "./support/random_schema.ts";

/** Formats are hints, and OpenAPI's keywords none of JSON Schema. */
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

Deno.test("What JSON Schema says of a body is what the server accepts, for random schemas and bodies", () => {
  const counts = { accepted: 0, refused: 0, exact: 0 };
  fuzz(41, "client", 1_200, ({ schema, isExact }, values, base) => {
    const form = toJsonForm(schema, "the body");
    const [fits, described] = judge(base, (models) => models.jsonInput(schema, "createBookBody"));
    for (let turn = 0; turn < 10; turn++) {
      const value = values();
      if (value === undefined) continue;
      const json = JSON.stringify(value);
      const isAccepted = outcome(form, JSON.parse(json)).issues === undefined;
      const isDescribed = fits(JSON.parse(json));
      counts[isAccepted ? "accepted" : "refused"]++;
      if (isExact) counts.exact++;
      assert(isDescribed || !isAccepted, `accepted, but not described: ${json}\n${described}\n${outline(schema)}`);
      assert(
        isAccepted || !isDescribed || !isExact,
        `described, but not accepted: ${json}\n${described}\n${outline(schema)}`,
      );
    }
  });
  assert(counts.accepted > 3_000 && counts.refused > 2_000 && counts.exact > 3_000, JSON.stringify(counts));
});

Deno.test("What is sent fits what JSON Schema says of a response, for random schemas and results", () => {
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
