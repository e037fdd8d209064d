/**
 * A route as an agent sees it: name, description, schemas, hints, and the checks of its arguments.
 */
import * as v from "valibot";
import type { Issue } from "../../base/errors.ts";
import type { ResolvedLimits } from "../../http/limits.ts";
import type { ToolAnnotations } from "../../http/route_info.ts";
import type { Route } from "../../routing/route.ts";
import { toValidator, type Validator } from "../../schema/check.ts";
import { coerceJson } from "../../schema/coerce_json.ts";
import type { Dataset, Schema } from "../../schema/schema.ts";
import { toIssue } from "../../schema/issues.ts";
import { documentationOf } from "../route/docstring.ts";
import { securityOf } from "../route/security.ts";
import { argumentsOf, type ToolArgument, toolOptionsOf } from "./tool_check.ts";
import type { OutputForm } from "./tool_result.ts";
import { inputSchemaOf, nullableArguments, type ObjectSchema, outputOf } from "./tool_schema.ts";

/** A tool as `tools/list` describes it. */
interface ToolDefinition {
  readonly name: string;
  readonly title?: string;
  readonly description: string;
  readonly inputSchema: ObjectSchema;
  readonly outputSchema?: ObjectSchema;
  readonly annotations: ToolAnnotations;
}

/** An argument with all that a call needs to know of it. */
export interface CheckedArgument extends ToolArgument {
  readonly isNullable: boolean;
  /** Finds the faults of a value. */
  readonly check: (value: unknown) => Issue[];
}

export interface Tool {
  readonly route: Route;
  readonly definition: ToolDefinition;
  readonly arguments: readonly CheckedArgument[];
  /** The query parameters that carry keys of the caller, and come from its own URL. */
  readonly queryKeys: readonly string[];
  readonly outputForm: OutputForm;
  /** The size of the body that the route accepts, in bytes. */
  readonly maxBody: number;
}

const MAX_NAME_LENGTH = 64;
/** Methods that change nothing (RFC 9110 section 9.2.1). */
const SAFE = new Set(["GET", "HEAD", "OPTIONS"]);
/** Methods that may be repeated (RFC 9110 section 9.2.2). */
const IDEMPOTENT = new Set([...SAFE, "PUT", "DELETE"]);
/** For a name in the path without a schema. */
const TEXT: readonly Schema[] = [v.string()];

/** Names the tools of routes: a declared name stays, a derived one gets a number if it is taken. */
export function assignToolNames(routes: readonly Route[]): Map<Route, string> {
  const taken = new Set(routes.map((route) => toolOptionsOf(route).name));
  const names = new Map<Route, string>();
  for (const route of routes) {
    const name = toolOptionsOf(route).name ?? freeName(toToolName(route.operationId), taken);
    taken.add(name);
    names.set(route, name);
  }
  return names;
}

/** Makes the tool of a route that `checkTool` has checked, with the limits of the application. */
export function toTool(route: Route, name: string, limits: ResolvedLimits): Tool {
  const { summary, description } = documentationOf(route);
  const { annotations, ...options } = toolOptionsOf(route);
  const args = argumentsOf(route);
  const inputSchema = inputSchemaOf(args);
  const nullable = nullableArguments(inputSchema);
  const output = outputOf(route.options.response);
  const title = annotations?.title ?? summary?.replace(/\.$/, "");
  const text = [summary, description].filter((part) => part !== undefined).join("\n\n");
  return {
    route,
    definition: {
      name,
      ...(title !== undefined && { title }),
      description: options.description ?? (text === "" ? route.name : text),
      inputSchema,
      ...(output.schema && { outputSchema: output.schema }),
      annotations: annotationsOf(route, title, annotations),
    },
    arguments: args.map((argument) => {
      return { ...argument, isNullable: nullable.has(argument.name), check: compileArgumentCheck(argument) };
    }),
    queryKeys: queryKeysOf(route, args),
    outputForm: output.form,
    maxBody: route.limitsOver(limits).body,
  };
}

/** The keys in the query that no argument of the tool carries. */
function queryKeysOf(route: Route, args: readonly ToolArgument[]): string[] {
  const schemes = securityOf(route).flatMap(({ security }) => security.flatMap((way) => [...way.values()]));
  const keys = schemes.flatMap(({ scheme }) => scheme.type === "apiKey" && scheme.in === "query" ? [scheme.name] : []);
  return [...new Set(keys)].filter((key) => !args.some(({ name }) => name === key));
}

/** An operation's name in the characters that a tool's name may have. */
function toToolName(operationId: string): string {
  const ascii = operationId.normalize("NFKD").replace(/\p{M}/gu, "").replace(/[^A-Za-z0-9_-]+/g, "_");
  return /[A-Za-z0-9]/.test(ascii) ? ascii.slice(0, MAX_NAME_LENGTH) : "tool";
}

/** Adds a number to a name that is taken, and shortens the name if both do not fit. */
function freeName(wanted: string, taken: ReadonlySet<string | undefined>): string {
  let name = wanted;
  for (let number = 2; taken.has(name); number++) {
    name = `${wanted.slice(0, MAX_NAME_LENGTH - String(number).length)}${number}`;
  }
  return name;
}

/**
 * The hints that HTTP gives for a method, and that of the option `idempotent`. Hints of the route
 * replace them. A POST may destroy something.
 */
function annotationsOf(
  { method, idempotency }: Route,
  title: string | undefined,
  declared: ToolAnnotations = {},
): ToolAnnotations {
  const readOnlyHint = declared.readOnlyHint ?? SAFE.has(method);
  return {
    ...(title !== undefined && { title }),
    destructiveHint: !readOnlyHint,
    idempotentHint: readOnlyHint || IDEMPOTENT.has(method) || idempotency !== undefined,
    openWorldHint: false,
    ...declared,
    readOnlyHint,
  };
}

/**
 * Checks an argument as JSON, as its schema describes it: in a path or query, `5` and `"5"` are the
 * same text, and so are a value and a list of it. Async schemas are left to the binder of the
 * route.
 */
function compileArgumentCheck({ name, input }: ToolArgument): CheckedArgument["check"] {
  const isParameter = "in" in input;
  const schemas = !isParameter ? [input.schema] : input.schemas.length > 0 ? input.schemas : TEXT;
  const [source, path] = isParameter ? [input.in, [name]] : [input.name, []];
  // Prepared at the first call: most tools are only ever listed.
  let validators: readonly Validator[] | undefined;
  return (value) => {
    validators ??= schemas.map((schema) => toValidator(coerceJson(schema, `the argument "${name}"`)));
    return validators.filter(({ isAsync }) => !isAsync).flatMap(({ validate }) => {
      const { issues = [] } = validate(value) as Dataset;
      return issues.map((issue) => toIssue(issue, source, path));
    });
  };
}
