/**
 * Writes a function that binds the text inputs of a handler in one straight pass. It knows valid input only: for any other it
 * gives nothing, and {@linkcode TextFields} goes through the fields again to tell what is wrong.
 */
import type { QueryValue } from "../http/query.ts";
import type { HttpRequest } from "../http/request.ts";
import { INVALID } from "../schema/check.ts";
import type { Field } from "./field.ts";

/** Gives the arguments of each owner, or undefined where an input is not valid. */
export type BindText = (
  request: HttpRequest,
  path: readonly string[],
  query: readonly QueryValue[],
) => Record<string, unknown>[] | undefined;

/** Reads one field, as it was sent. */
export type ReadField = (field: Field, request: HttpRequest, query: readonly QueryValue[]) => QueryValue;

/**
 * Generates the function.
 *
 * @param fields What is bound, all of it without waiting.
 * @param bags For each owner, the arguments that are objects of their own, though nothing may be in them.
 * @param read Reads what is neither in the path nor in the query.
 * @returns Nothing where a program may not make code from text.
 */
export function generateBindText(
  fields: readonly Field[],
  bags: readonly (readonly string[])[],
  read: ReadField,
): BindText | undefined {
  const lines = fields.flatMap((field, index) => bindLines(field, index));
  const args = bags.map((own, owner) => argsExpression(fields, own, owner));
  const body = `${lines.join("\n")}\nreturn [${args.join(", ")}];`;
  const checks = fields.map((field) => field.validator?.check);
  try {
    // All that is written into the source are numbers, and names as JSON.
    const make = new Function("INVALID", "checks", "fields", "read", `return (request, path, query) => {\n${body}\n};`);
    return make(INVALID, checks, fields, read);
  } catch (error) {
    if (error instanceof EvalError) return undefined;
    throw error;
  }
}

function bindLines(field: Field, index: number): string[] {
  const value = `v${index}`;
  const lines = [`let ${value} = ${readExpression(field, index)};`];
  if (!field.validator) return lines;
  if (field.source === "query" && !field.isList) lines.push(`if (typeof ${value} === "object") return undefined;`);
  lines.push(`${value} = checks[${index}](${value});`, `if (${value} === INVALID) return undefined;`);
  return lines;
}

function readExpression(field: Field, index: number): string {
  if (field.source === "path") return `path[${field.place}]`;
  if (field.source === "query" && !field.isList) return `query[${field.place}]`;
  return `read(fields[${index}], request, query)`;
}

function argsExpression(fields: readonly Field[], bags: readonly string[], owner: number): string {
  const membersIn = (bag: string | undefined) =>
    fields.flatMap((field, index) =>
      field.owner === owner && field.bag === bag ? [`${JSON.stringify(field.name)}: v${index}`] : []
    );
  const groups = bags.map((bag) => `${bag}: { ${membersIn(bag).join(", ")} }`);
  return `{ ${[...membersIn(undefined), ...groups].join(", ")} }`;
}
