import { type InputSource, type Issue, RouteError } from "../errors.ts";
import { pickQuery, queryText, type QueryValue } from "../http/query.ts";
import { contextOf, type HttpRequest } from "../http/request.ts";
import { INVALID, toValidator, type Validator } from "../schema/check.ts";
import type { Dataset, Schema, SchemaIssue } from "../schema/schema.ts";
import { toIssue } from "../schema/issues.ts";
import { coerceText } from "../schema/coerce_text.ts";
import type { TextInputs } from "./dependency.ts";

/** Reads off a declaration what is bound from text: path, query, headers and cookies. */

/** Whose inputs are bound: a handler, or a dependency. */
export interface InputOwner {
  /** Whether it is the handler, which gets all values of the path. */
  readonly isHandler: boolean;
  /** What it is called in messages. */
  readonly name: string;
  /** What it declares. */
  readonly inputs: TextInputs;
  /** Names that are taken in its arguments, and by what. */
  readonly taken: ReadonlyMap<string, string>;
}

/** The names that a route's path holds. */
export interface PathNames {
  /** All of them, in order. */
  readonly all: readonly string[];
  /** Those of the route's own declaration; the others were added by an include. */
  readonly own: ReadonlySet<string>;
}

/** One input, ready to be read. */
export interface Field {
  readonly source: InputSource;
  readonly name: string;
  /** The index of the path's value or the query's slot. */
  readonly place: number;
  /** Undefined for a name in the path that nothing was declared for: it is a string. */
  readonly validator: Validator | undefined;
  readonly isList: boolean;
  readonly owner: number;
  /** The argument that holds the value: `headers` and `cookies` have objects of their own. */
  readonly bag: "headers" | "cookies" | undefined;
}

/**
 * Reads the fields off a declaration.
 *
 * @param owner Whose they are.
 * @param index The place of the owner among those whose inputs are bound together.
 * @param path The names in the route's path.
 * @param slots Gets a place for each key of the query, shared by all owners.
 * @throws {RouteError} When a name is bound twice, or the path does not hold a parameter.
 * @throws {TypeError} When no text can satisfy a schema.
 */
export function fieldsOf(
  owner: InputOwner,
  index: number,
  path: PathNames,
  slots: Map<string, number>,
): Field[] {
  const fields: Field[] = [];
  const taken = new Map(owner.taken);
  const add = (
    source: InputSource,
    name: string,
    place: number,
    schema: Schema | undefined,
    bag?: Field["bag"],
  ) => {
    if (!bag) reserveName(taken, name, `the ${source}`, owner.name);
    const form = schema &&
      coerceText(schema, `the ${source} "${name}" of ${owner.name}`);
    if (form?.isList && (source === "path" || source === "cookie")) {
      throw new TypeError(
        `Cannot bind the ${source} "${name}" of ${owner.name}: it holds one value, not a list`,
      );
    }
    fields.push({
      source,
      name,
      place,
      validator: form && toValidator(form.schema),
      isList: form?.isList ?? false,
      owner: index,
      bag,
    });
  };
  const { params = {}, query = {}, headers = {}, cookies = {} } = owner.inputs;
  for (const name of Object.keys(params)) {
    if (!path.own.has(name)) {
      throw new RouteError(
        "path",
        `Cannot bind the path of ${owner.name}: it has no "{${name}}"; what an include prefix holds is declared under query`,
      );
    }
  }
  path.all.forEach((name, place) => {
    const schema = own(params, name) ?? (isRebound(name, owner, path) ? own(query, name) : undefined);
    if (owner.isHandler || schema) add("path", name, place, schema);
  });
  for (const [name, schema] of Object.entries(query)) {
    if (path.all.includes(name) && isRebound(name, owner, path)) continue;
    const slot = slots.get(name) ?? slots.size;
    slots.set(name, slot);
    add("query", name, slot, schema);
  }
  const headerNames = new Map<string, string>();
  for (const [name, schema] of Object.entries(headers)) {
    reserveName(headerNames, name.toLowerCase(), `the header "${name}"`, owner.name);
    add("header", name, 0, schema, "headers");
  }
  for (const [name, schema] of Object.entries(cookies)) {
    add("cookie", name, 0, schema, "cookies");
  }
  return fields;
}

function own(schemas: Readonly<Record<string, Schema>>, name: string): Schema | undefined {
  return Object.hasOwn(schemas, name) ? schemas[name] : undefined;
}

/** A name under `query` becomes the path's where the owner could not know the path: by an include, or in a dependency. */
function isRebound(name: string, { isHandler }: InputOwner, path: PathNames): boolean {
  return !isHandler || !path.own.has(name);
}

/**
 * Takes a name among the arguments.
 *
 * @throws {RouteError} When it is taken.
 */
export function reserveName(
  taken: Map<string, string>,
  name: string,
  by: string,
  owner: string,
): void {
  const before = taken.get(name);
  if (before !== undefined) {
    throw new RouteError(
      "conflict",
      `Cannot bind "${name}" of ${owner}: ${by} and ${before} both declare it, rename one`,
    );
  }
  taken.set(name, by);
}

/**
 * Writes a function that binds the text inputs of a handler in one straight pass. It knows valid input only: for any other it
 * gives nothing, and {@linkcode TextFields} goes through the fields again to tell what is wrong.
 */

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

/** Binds what comes as text: path, query, headers and cookies, of a handler and of its dependencies, in one pass. */

/** Arguments by name. */
export type Args = Record<string, unknown>;

/** The prepared plan. */
export class TextFields {
  readonly #owners: number;
  readonly #bags: readonly (readonly ("headers" | "cookies")[])[];
  readonly #fields: readonly Field[];
  readonly #slots: ReadonlyMap<string, number>;
  readonly #bindValid: BindText | undefined;

  /** Whether a schema has to be waited for. */
  readonly isAsync: boolean;

  /**
   * Prepares the plan.
   *
   * @param owners Whose inputs to bind.
   * @param path The names in the route's path.
   * @throws {RouteError} When a name is bound twice, or the path does not hold a parameter.
   * @throws {TypeError} When no text can satisfy a schema.
   */
  constructor(owners: readonly InputOwner[], path: PathNames) {
    const slots = new Map<string, number>();
    this.#owners = owners.length;
    this.#fields = owners.flatMap((owner, index) => fieldsOf(owner, index, path, slots));
    this.#bags = owners.map(({ inputs }) => BAGS.filter((bag) => inputs[bag] !== undefined));
    this.#slots = slots;
    this.isAsync = this.#fields.some((field) => field.validator?.isAsync);
    this.#bindValid = this.isAsync ? undefined : generateBindText(this.#fields, this.#bags, read);
  }

  /** Whether there is nothing to bind. */
  get isEmpty(): boolean {
    return this.#fields.length === 0 && this.#bags.every((bags) => bags.length === 0);
  }

  /** Binds where no schema is async. Faults are added to the list. */
  bind(request: HttpRequest, issues: Issue[]): Args[] {
    const query = this.#query(request);
    const valid = this.#bindValid?.(request, contextOf(request).values, query);
    if (valid) return valid;
    const args = this.#emptyArgs();
    for (const field of this.#fields) {
      const value = read(field, request, query);
      const output = field.validator === undefined
        ? value
        : isRepeated(field, value)
        ? INVALID
        : field.validator.check(value);
      if (output === INVALID) refuse(field, value, issues);
      else put(field, output, args);
    }
    return args;
  }

  /** Binds where a schema is async. Faults are added to the list. */
  async bindAsync(request: HttpRequest, issues: Issue[]): Promise<Args[]> {
    const args = this.#emptyArgs();
    const query = this.#query(request);
    const settled = this.#fields.map(async (field) => {
      const value = read(field, request, query);
      if (field.validator === undefined) return put(field, value, args);
      if (isRepeated(field, value)) return refuse(field, value, issues);
      const dataset = await field.validator.validate(value);
      if (dataset.issues) report(field, dataset.issues, issues);
      else put(field, dataset.value, args);
    });
    await Promise.all(settled);
    return args;
  }

  #query(request: HttpRequest): readonly QueryValue[] {
    if (this.#slots.size === 0) return NO_QUERY;
    const { raw, pathEnd, matched } = contextOf(request);
    return pickQuery(queryText(raw.url, pathEnd), this.#slots, matched.limits.query);
  }

  #emptyArgs(): Args[] {
    const args: Args[] = [];
    for (let owner = 0; owner < this.#owners; owner++) {
      const own: Args = {};
      for (const bag of this.#bags[owner]!) own[bag] = {};
      args.push(own);
    }
    return args;
  }
}

const NO_QUERY: readonly QueryValue[] = [];
const BAGS = ["headers", "cookies"] as const;

function read(
  field: Field,
  request: HttpRequest,
  query: readonly QueryValue[],
): QueryValue {
  switch (field.source) {
    case "path":
      return contextOf(request).values[field.place];
    case "query": {
      const value = query[field.place];
      return field.isList && typeof value === "string" ? [value] : value;
    }
    case "header": {
      const value = request.raw.headers.get(field.name) ?? undefined;
      return field.isList && value !== undefined ? splitList(value) : value;
    }
    default:
      return request.cookies[field.name];
  }
}

/** The elements of a list header, RFC 9110 section 5.6.1. */
function splitList(value: string): string[] {
  return value.split(",").map((element) => element.trim()).filter((element) => element !== "");
}

function put(field: Field, value: unknown, args: readonly Args[]): void {
  const own = args[field.owner]!;
  if (field.bag === undefined) own[field.name] = value;
  else (own[field.bag] as Args)[field.name] = value;
}

/** Tells what is wrong with a value that the check refused. */
function refuse(field: Field, value: QueryValue, issues: Issue[]): void {
  if (isRepeated(field, value)) issues.push(repeated(field));
  else report(field, (field.validator!.validate(value) as Dataset).issues ?? [], issues);
}

function report(field: Field, found: readonly SchemaIssue[], issues: Issue[]): void {
  for (const issue of found) issues.push(toIssue(issue, field.source, [field.name]));
}

function isRepeated(field: Field, value: QueryValue): boolean {
  return !field.isList && typeof value === "object";
}

function repeated({ source, name }: Field): Issue {
  return {
    in: source,
    path: [name],
    code: "invalid",
    message: "Sent more than once",
    expected: "a single value",
  };
}
