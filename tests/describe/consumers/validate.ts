// Validates OpenAPI documents: `validate.ts <file>…` prints the findings of each validator for each
// file, as JSON.

import { validate as validateBySchema } from "@hyperjump/json-schema/openapi-3-1";
import { createConfig, lintFromString } from "@redocly/openapi-core";
import { Validator } from "@seriousme/openapi-schema-validator";
import spectralCore, { type RulesetDefinition } from "@stoplight/spectral-core";
import { oas } from "@stoplight/spectral-rulesets";

/** The faults, by validator. */
type Findings = Record<string, string[]>;

/**
 * Rules on style, or on texts that only the author of an application knows. All other rules must
 * pass, without warnings.
 */
const REDOCLY_RULES = {
  // The document is valid at any address.
  "no-empty-servers": "off",
  // An application need not have these.
  "info-license": "off",
  "operation-summary": "off",
  "security-defined": "off",
  "tag-description": "off",
  // Some only redirect.
  "operation-2xx-response": "off",
  // A trailing slash is significant, and some want one.
  "no-path-trailing-slash": "off",
  // A schema with a fallback accepts anything, and describes its preferred values.
  "no-illogical-composition-keywords": "off",
  // It does not look into extensions; Spectral has the same rule, and does.
  "no-unused-components": "off",
} as const;

const SPECTRAL_RULES = {
  "oas3-api-servers": "off",
  "info-contact": "off",
  "operation-description": "off",
  "operation-tags": "off",
  "path-keys-no-trailing-slash": "off",
  // JSON Schema 2020-12 has `prefixItems`.
  "array-items": "off",
} as const;

async function redocly(source: string): Promise<string[]> {
  const config = await createConfig({ extends: ["recommended"], rules: REDOCLY_RULES });
  const problems = await lintFromString({ source, config, absoluteRef: "document.json" });
  return problems.map(({ ruleId, message, location }) => `${ruleId}: ${message} ${location[0]?.pointer}`);
}

async function spectral(source: string): Promise<string[]> {
  const linter = new spectralCore.Spectral();
  linter.setRuleset({ extends: oas as RulesetDefinition, rules: SPECTRAL_RULES } as RulesetDefinition);
  const results = await linter.run(source);
  return results.map(({ code, message, path }) => `${code}: ${message} ${path.join("/")}`);
}

async function hyperjump(source: string): Promise<string[]> {
  const output = await validateBySchema("https://spec.openapis.org/oas/3.1/schema-base", JSON.parse(source), "BASIC");
  if (output.valid) return [];
  return (output.errors ?? []).map(({ keyword, instanceLocation }) => `${keyword} ${instanceLocation}`);
}

async function seriousme(source: string): Promise<string[]> {
  const { valid, errors = [] } = await new Validator().validate(JSON.parse(source));
  if (valid) return [];
  return typeof errors === "string" ? [errors] : errors.map((error) => JSON.stringify(error));
}

async function validate(source: string): Promise<Findings> {
  return {
    redocly: await redocly(source),
    spectral: await spectral(source),
    hyperjump: await hyperjump(source),
    seriousme: await seriousme(source),
  };
}

const findings: Findings[] = [];
for (const file of Deno.args) findings.push(await validate(await Deno.readTextFile(file)));
console.log(JSON.stringify(findings));
