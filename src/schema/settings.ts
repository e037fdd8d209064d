/** Settings of a program: environment variables, validated and typed by a schema. */
import { CannotStartError } from "../base/errors.ts";
import { checkOptions, type OptionNames, quote } from "../base/options.ts";
import { loadingCommand, mayRead, readVariable } from "../base/runtime.ts";
import { coerceText, splitList } from "./coerce_text.ts";
import { demandOf } from "./issues.ts";
import { mapSchema } from "./map_schema.ts";
import {
  type Dataset,
  fallsBack,
  type GivenSchema,
  isSchema,
  LISTS,
  type Mistake,
  nodeOf,
  type PipeAction,
  type Schema,
  schemaFault,
  type SchemaIssue,
  type SchemaNode,
} from "./schema.ts";

/** @ignore The schema of settings: an object schema that is not async. */
export interface SettingsSchema<Input = unknown, Output = Input> extends GivenSchema<Input, Output> {
  /** The schemas by the name of their variable. */
  readonly entries: Readonly<Record<string, Schema>>;
  /** Always false. */
  readonly async: false;
}

/**
 * Options of {@linkcode settings}.
 *
 * @category Applications
 */
export interface SettingsOptions {
  /** Variables in place of those of the process, for tests. */
  env?: Readonly<Record<string, string | undefined>>;
}

const OPTIONS: OptionNames<SettingsOptions> = { env: true };

/** Deno's permissions hide the variable. */
const UNREADABLE = "may not be read";

/** Unlike a client, the environment is trusted. */
const ALL_ISSUES = { lang: undefined, message: undefined, abortEarly: false, abortPipeEarly: undefined } as const;

/**
 * Reads environment variables, and validates and converts them by a schema: strings become numbers
 * and booleans as in a query, and commas separate the items of an array. One error lists all
 * faults, without values.
 *
 * A variable without permission counts as not set, and so does an empty one of an optional schema
 * that refuses an empty string.
 *
 * `webfw env main.ts` prints the settings of a program as a file `.env.example`. It loads the
 * module with placeholders.
 *
 * @param schema An object schema. Its keys are the names of the variables.
 * @throws {TypeError} If the schema is async, is no object schema, or has a part that no string can
 * satisfy.
 * @throws {CannotStartError} If variables are missing or invalid.
 *
 * @example Three variables
 * ```ts
 * import { settings } from "@webfw/core";
 * import { assertEquals } from "@std/assert";
 * import * as v from "valibot";
 *
 * const Port = v.pipe(v.number(), v.integer(), v.minValue(0), v.maxValue(65_535));
 * const Settings = v.object({
 *   PORT: v.optional(Port, 8000),
 *   DATABASE: v.pipe(v.string(), v.description("The URL of the database")),
 *   ORIGINS: v.optional(v.array(v.string()), []),
 * });
 *
 * const env = { DATABASE: "postgres://localhost/shop", ORIGINS: "https://a.example,https://b.example" };
 * assertEquals(settings(Settings, { env }), {
 *   PORT: 8000,
 *   DATABASE: "postgres://localhost/shop",
 *   ORIGINS: ["https://a.example", "https://b.example"],
 * });
 * ```
 *
 * @category Applications
 */
export function settings<Input, Output>(
  schema:
    | SettingsSchema<Input, Output>
    | Mistake<"Give one valibot schema of an object, such as v.object({ PORT: v.number() })">,
  options: SettingsOptions = {},
): Output {
  checkOptions(options, OPTIONS, "read the settings");
  if (!isSchema(schema)) throw new TypeError(`Cannot read the settings: the argument ${schemaFault(schema)}`);
  const variables = new Map<string, Variable>();
  const ready = toReadable(nodeOf(schema), variables);
  const declared = loadingCommand()?.settings;
  const isDescribed = declared !== undefined;
  if (isDescribed) declared.push(...[...variables.values()].map(({ description }) => description));
  const { env } = options;
  const given: Record<string, unknown> = Object.create(null);
  for (const [name, variable] of variables) {
    const value = variable.read(env ? textOf(env, name) : readVariable(name));
    if (value !== undefined) given[name] = value;
    if (isDescribed && !variable.accepts(value)) given[name] = variable.placeholder;
  }
  const absent = ({ name, description }: Variable): string =>
    env || mayRead(name) ? `${name} is not set, expected: ${description.type}` : `${name} ${UNREADABLE}`;
  let faults: string[];
  try {
    const { issues, value } = ready["~run"]({ value: given }, ALL_ISSUES) as Dataset;
    // `webfw env` loads the whole module, also after faults.
    if (!issues || isDescribed) return value as Output;
    faults = issues.map((issue) => {
      const variable = variables.get(String(issue.path?.[0]?.key));
      if (!variable) return faultOf("the settings", issue, messagesOf(nodeOf(schema)));
      return variable.name in given ? variable.faultOf(issue) : absent(variable);
    });
  } catch {
    // Do not print the error: those of `new URL(text)` and `JSON.parse(text)` contain the value.
    faults = [...variables.values()].flatMap((variable) => {
      const { name, description } = variable;
      if (!(name in given)) return description.isRequired ? [absent(variable)] : [];
      return variable.issuesOf(given[name])?.map((issue) => variable.faultOf(issue)) ?? [brokenBy(name)];
    });
    if (faults.length === 0) faults.push(brokenBy("the settings"));
  }
  if (!env && faults.some((fault) => fault.includes(" is not set, "))) {
    faults.push("set variables in the environment, or in a file that --env-file names");
  }
  if (faults.some((fault) => fault.endsWith(UNREADABLE))) {
    faults.push(`allow all by --allow-env=${[...variables.keys()].join(",")}`);
  }
  const error = new CannotStartError(`Cannot read the settings: ${[...new Set(faults)].join("; ")}`);
  // Deno (2.9) replaces errors without frames.
  Error.captureStackTrace(error, settings);
  throw error;
}

class Variable {
  readonly name: string;
  readonly declared: SchemaNode;
  readonly description: SettingDescription;
  /** Takes a string, or an array of strings. */
  readonly schema: SchemaNode;
  readonly #isList: boolean;

  constructor(name: string, declared: SchemaNode) {
    if (name === "" || /[=\s\0]/.test(name)) {
      throw new TypeError(`Cannot read the settings: no environment variable can have the name ${quote(name)}`);
    }
    const { schema, isList } = coerceText(declared, `the variable "${name}"`);
    this.name = name;
    this.declared = declared;
    const mayBeAbsent = ["optional", "exact_optional", "nullish"].includes(declared.type) || fallsBack(declared);
    this.description = {
      name,
      isRequired: !mayBeAbsent,
      type: typeOf(declared),
      description: descriptionOf(declared),
      default: toText(defaultOf(declared)),
    };
    this.schema = nodeOf(schema);
    this.#isList = isList;
  }

  /** Undefined if the variable counts as not set. */
  read(text: string | undefined): string | string[] | undefined {
    if (text === undefined) return undefined;
    const value = this.#isList ? splitList(text) : text;
    return text === "" && !this.description.isRequired && !this.accepts(value) ? undefined : value;
  }

  accepts(value: unknown): boolean {
    if (value === undefined && !this.description.isRequired) return true;
    return this.issuesOf(value)?.length === 0;
  }

  /** Undefined if a function of the schema throws. */
  issuesOf(value: unknown): readonly SchemaIssue[] | undefined {
    try {
      return (this.schema["~run"]({ value }, ALL_ISSUES) as Dataset).issues ?? [];
    } catch {
      return undefined;
    }
  }

  faultOf(issue: SchemaIssue): string {
    return faultOf(this.name, issue, messagesOf(this.declared));
  }

  /** For `webfw env`; undefined if none fits. */
  get placeholder(): unknown {
    if (!this.description.isRequired) return undefined;
    return this.read([...constantsOf(this.declared), ...PLACEHOLDERS].find((text) => this.accepts(this.read(text))));
  }
}

/** Makes a schema that accepts strings by name, and adds its variables to the map. */
function toReadable(node: SchemaNode, variables: Map<string, Variable>): SchemaNode {
  if (node.async) throw new TypeError("Cannot read the settings: the schema is async, check them in a lifespan");
  if (node.pipe) return mapSchema(node, (part) => toReadable(part, variables));
  if (!node.entries) {
    throw new TypeError(`Cannot read the settings: the schema is of kind "${node.type}", write v.object({ … })`);
  }
  const readable = new Map<SchemaNode, SchemaNode>();
  for (const [name, entry] of Object.entries(node.entries)) {
    const variable = new Variable(name, entry);
    variables.set(name, variable);
    readable.set(entry, variable.schema);
  }
  return mapSchema(node, (part) => readable.get(part) ?? part);
}

function textOf(env: Readonly<Record<string, string | undefined>>, name: string): string | undefined {
  const text: unknown = Object.hasOwn(env, name) ? env[name] : undefined;
  if (text === undefined || typeof text === "string") return text;
  throw new TypeError(`Cannot read the settings: "env" must contain strings, got ${typeof text} for ${name}`);
}

function brokenBy(name: string): string {
  return `${name} cannot be converted, because a function of the schema throws`;
}

/** Messages of functions can contain the value. */
function faultOf(name: string, issue: SchemaIssue, messages: ReadonlySet<string>): string {
  return messages.has(issue.message) ? `${name}: ${issue.message}` : `${name} ${demandOf(issue)}`;
}

/** For `.env.example`. The command line can be of another release. */
interface SettingDescription {
  readonly name: string;
  readonly isRequired: boolean;
  readonly type: string;
  readonly description: string | undefined;
  /** Undefined if there is none, or a function makes it. */
  readonly default: string | undefined;
}

/** A URL is the first, because `new URL()` accepts it, too. */
const PLACEHOLDERS = [
  "http://localhost/",
  "1",
  "8000",
  "true",
  "localhost",
  "user@example.com",
  "00000000-0000-4000-8000-000000000000",
  "127.0.0.1",
  "2000-01-01",
  "2000-01-01T00:00:00Z",
  "{}",
  "x".repeat(32),
  "0".repeat(32),
  "0".repeat(64),
  "",
];

/** Without messages of functions. */
function messagesOf(node: SchemaNode): ReadonlySet<string> {
  const messages = new Set<string>();
  const collect = (part: unknown): void => {
    if (typeof part !== "object" || part === null) return;
    const { message, pipe, wrapped, item, items = [], options = [], entries = {} } = part as SchemaNode;
    if (typeof message === "string") messages.add(message);
    // The first step of a pipe has all properties of the pipe except `pipe`.
    for (const inner of [...pipe ?? [], wrapped, item, ...items, ...options, ...Object.values(entries)]) collect(inner);
  };
  collect(node);
  return messages;
}

function typeOf(node: SchemaNode): string {
  const { wrapped, pipe } = node;
  if (pipe) {
    const [first, ...steps] = pipe;
    return [typeOf(first as SchemaNode), ...steps.flatMap(requirementOf)].join(", ");
  }
  if (wrapped) return typeOf(wrapped);
  if (node.type === "boolean") return "true or false";
  if (LISTS.has(node.type)) return `list, separated by commas${node.item ? `, of: ${typeOf(node.item)}` : ""}`;
  const constants = constantsOf(node);
  if (constants.length > 0) return `one of ${constants.join(", ")}`;
  return node.type === "union" ? (node.options as SchemaNode[]).map(typeOf).join(" or ") : node.expects ?? node.type;
}

function requirementOf(step: SchemaNode | PipeAction): string[] {
  if (step.kind !== "validation") return [];
  const { type, expects, message } = step as PipeAction & {
    readonly expects: string | null;
    readonly message: unknown;
  };
  const words = type.replaceAll("_", " ");
  if (type === "check" || type === "custom" || type === "raw_check") {
    return typeof message === "string" ? [message] : [];
  }
  return [type === "non_empty" ? "not empty" : expects === null ? words : `${words} ${expects}`];
}

function constantsOf(node: SchemaNode): string[] {
  if (node.wrapped && !node.pipe) return constantsOf(node.wrapped);
  const values = node.type === "literal"
    ? [node.literal]
    : ["picklist", "enum"].includes(node.type)
    ? node.options!
    : [];
  return values.map((value) => toText(value)).filter((text) => text !== undefined);
}

function descriptionOf({ pipe = [], wrapped }: SchemaNode): string | undefined {
  for (const step of pipe) {
    const { type, description } = step as { readonly type: string; readonly description?: unknown };
    if (type === "description" && typeof description === "string") return description;
  }
  const inner = pipe[0] as SchemaNode | undefined ?? wrapped;
  return inner && descriptionOf(inner);
}

function defaultOf(node: SchemaNode): unknown {
  const value = node.default ?? (fallsBack(node) ? node.fallback : undefined);
  return value ?? (node.pipe && node.pipe[0] !== node ? defaultOf(node.pipe[0] as SchemaNode) : undefined);
}

/** Undefined if no variable can contain the value. */
function toText(value: unknown): string | undefined {
  if (Array.isArray(value)) {
    const texts = value.map(toText);
    return texts.every((text) => text !== undefined && !text.includes(",")) ? texts.join(",") : undefined;
  }
  return ["string", "number", "boolean", "bigint"].includes(typeof value) ? String(value) : undefined;
}
