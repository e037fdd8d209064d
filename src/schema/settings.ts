/** Settings of a program: environment variables, checked and typed by a schema. */
import { CannotStartError } from "../base/errors.ts";
import { checkOptions, type OptionNames, quote } from "../base/options.ts";
import { mayRead, readVariable } from "../base/runtime.ts";
import { coerceText, splitList } from "./coerce_text.ts";
import { demandOf } from "./issues.ts";
import { mapSchema } from "./map_schema.ts";
import { describeSetting, messagesOf, type SettingDescription, standIn } from "./setting.ts";
import {
  type Dataset,
  type GivenSchema,
  isSchema,
  type Mistake,
  nodeOf,
  type Schema,
  schemaFault,
  type SchemaIssue,
  type SchemaNode,
} from "./schema.ts";

/**
 * The schema of settings: an object schema that is not async.
 *
 * @category Applications
 */
export interface SettingsSchema<Input = unknown, Output = Input> extends GivenSchema<Input, Output> {
  /** The schemas by the names of the variables. */
  readonly entries: Readonly<Record<string, Schema>>;
  /** Settings are read at once. */
  readonly async: false;
}

/**
 * Options of {@linkcode settings}.
 *
 * @category Applications
 */
export interface SettingsOptions {
  /** The variables to read in place of those of the process, for tests. */
  env?: Readonly<Record<string, string | undefined>>;
}

const OPTIONS: OptionNames<SettingsOptions> = { env: true };

/** While `webfw env` loads a module, this global is the list of the settings that it declares. */
const DECLARED: unique symbol = Symbol.for("webfw.settings");

/** The end of the fault of a variable that Deno's permissions hide. */
const UNREADABLE = "may not be read";

/** Faults of all variables are listed: unlike clients, the operator of a program may be trusted. */
const ALL_ISSUES = { lang: undefined, message: undefined, abortEarly: false, abortPipeEarly: undefined } as const;

/**
 * Reads environment variables, and checks and converts them by a schema: texts become numbers and
 * booleans as in a query, and lists are separated by commas. All faults are in one error, which
 * names the variables and never holds their values.
 *
 * A variable that the program may not read counts as not set, and so does an empty one if its
 * schema makes it optional and refuses an empty text.
 *
 * `webfw env main.ts` prints all settings of a program as a file `.env.example`. It loads the
 * module with values that it makes up for what is missing.
 *
 * @param schema An object schema, whose keys are the names of the variables.
 * @param options Other variables than those of the process.
 * @returns The values.
 * @throws {TypeError} If it is not an object schema, if it is async, if no text can satisfy a part
 * of it, or if an option is wrong.
 * @throws {CannotStartError} If variables are missing or wrong.
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
  const declared: unknown = Reflect.get(globalThis, DECLARED);
  const isDescribed = Array.isArray(declared);
  if (isDescribed) declared.push(...[...variables.values()].map(({ description }) => description));
  const { env } = options;
  const given: Record<string, unknown> = Object.create(null);
  for (const [name, variable] of variables) {
    const value = variable.read(env ? textOf(env, name) : readVariable(name));
    if (value !== undefined) given[name] = value;
    if (isDescribed && !variable.accepts(value)) given[name] = variable.madeUp();
  }
  const absent = ({ name, description }: Variable): string =>
    env || mayRead(name) ? `${name} is not set, expected: ${description.type}` : `${name} ${UNREADABLE}`;
  let faults: string[];
  try {
    const { issues, value } = ready["~run"]({ value: given }, ALL_ISSUES) as Dataset;
    // Whatever is wrong, the rest of the module is to be loaded, with the settings that it
    // declares.
    if (!issues || isDescribed) return value as Output;
    faults = issues.map((issue) => {
      const variable = variables.get(String(issue.path?.[0]?.key));
      if (!variable) return faultOf("the settings", issue, messagesOf(nodeOf(schema)));
      return variable.name in given ? variable.faultOf(issue) : absent(variable);
    });
  } catch {
    // The errors of `new URL(text)` and `JSON.parse(text)` hold the text.
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
  // Deno (2.9) puts another error in the place of one without frames that a module throws.
  Error.captureStackTrace(error, settings);
  throw error;
}

/** One variable, ready to be read. */
class Variable {
  readonly name: string;
  readonly declared: SchemaNode;
  readonly description: SettingDescription;
  /** Takes text, or a list of texts. */
  readonly schema: SchemaNode;
  readonly #isList: boolean;

  constructor(name: string, declared: SchemaNode) {
    if (name === "" || /[=\s\0]/.test(name)) {
      throw new TypeError(`Cannot read the settings: no environment variable can have the name ${quote(name)}`);
    }
    const { schema, isList } = coerceText(declared, `the variable "${name}"`);
    this.name = name;
    this.declared = declared;
    this.description = describeSetting(name, declared);
    this.schema = nodeOf(schema);
    this.#isList = isList;
  }

  /** What the schema gets for a text; undefined if the variable counts as not set. */
  read(text: string | undefined): string | string[] | undefined {
    if (text === undefined) return undefined;
    const value = this.#isList ? splitList(text) : text;
    return text === "" && !this.description.isRequired && !this.accepts(value) ? undefined : value;
  }

  accepts(value: unknown): boolean {
    if (value === undefined && !this.description.isRequired) return true;
    return this.issuesOf(value)?.length === 0;
  }

  /** What is wrong with a value; undefined if a function of the schema throws. */
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

  /** A value for a program that is only looked at; undefined if none can be made up. */
  madeUp(): unknown {
    const text = this.description.isRequired
      ? standIn(this.declared, (text) => this.accepts(this.read(text)))
      : undefined;
    return this.read(text);
  }
}

/** Makes a schema that takes texts by name, and lists the variables that it reads. */
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
  throw new TypeError(`Cannot read the settings: "env" must hold texts, got ${typeof text} for ${name}`);
}

function brokenBy(name: string): string {
  return `${name} cannot be converted, because a function of the schema throws`;
}

/** What is wrong with a value, without the value: messages that a function makes can hold it. */
function faultOf(name: string, issue: SchemaIssue, messages: ReadonlySet<string>): string {
  return messages.has(issue.message) ? `${name}: ${issue.message}` : `${name} ${demandOf(issue)}`;
}
