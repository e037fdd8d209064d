/** Binds the text inputs of requests: path, query, headers and cookies. */
import { type InputSource, type Issue, RouteError, ValidationError } from "../base/errors.ts";
import { pickQuery, queryText, type QueryValue } from "../http/query.ts";
import { contextOf, type HttpRequest } from "../http/request.ts";
import { INVALID, toValidator, type Validator } from "../schema/check.ts";
import { coerceText, splitList } from "../schema/coerce_text.ts";
import { boundIssues, toIssue } from "../schema/issues.ts";
import { checkDefaults, type Dataset, type Schema, type SchemaIssue } from "../schema/schema.ts";
import type { PreparedDependency, TextInputs } from "./dependency.ts";
import type { StrictNames } from "./strict_names.ts";

export type Args = Record<string, unknown>;

/** The handler or dependency whose arguments are bound. */
export interface InputOwner {
  readonly isHandler: boolean;
  readonly name: string;
  readonly options: TextInputs;
  /** Argument names of other inputs, with a description for messages. */
  readonly reserved: ReadonlyMap<string, string>;
}

/** The owner of the inputs of a dependency. */
export function ownerOf({ name, options, deps }: PreparedDependency, where = ""): InputOwner {
  const reserved = new Map<string, string>();
  for (const needed of deps.keys()) reserveName(reserved, needed, "a dependency", name);
  for (const group of GROUPS) {
    if (options[group] !== undefined) reserveName(reserved, group, `the ${group}`, name);
  }
  return { isHandler: false, name: name + where, options, reserved };
}

export interface PathNames {
  readonly all: readonly string[];
  /** The names in the path of the declaration. Includes add the others. */
  readonly own: ReadonlySet<string>;
}

/** For dependencies whose path is unknown. */
export const NO_PATH: PathNames = { all: [], own: new Set() };

/** An argument that is an object of several inputs. */
type Group = "headers" | "cookies";

const GROUPS: readonly Group[] = ["headers", "cookies"];

interface Field {
  readonly source: InputSource;
  readonly name: string;
  /** Its index among the values of the path, or of the query. */
  readonly index: number;
  /** Undefined for a path parameter without a schema: a string. */
  readonly validator: Validator | undefined;
  readonly isList: boolean;
  readonly owner: number;
  readonly schema: Schema | undefined;
  /** Further owners that declare the same schema, and get the same value. */
  others?: number[];
  /** The argument that contains the value; undefined if the value is an argument itself. */
  readonly group: Group | undefined;
}

/** The text inputs of a handler and its dependencies, bound in one pass. */
export class TextFields {
  readonly #fields: readonly Field[];
  /** The groups of each owner. A declared group is an argument even if it is empty. */
  readonly #groups: readonly (readonly Group[])[];
  /** The arguments of each owner without values. A copy is faster than an object that grows. */
  readonly #templates: readonly Readonly<Args>[];
  /** The index of each key of the query, shared by all owners. */
  readonly #queryKeys: ReadonlyMap<string, number>;
  readonly #strict: StrictNames | undefined;

  readonly isAsync: boolean;

  /**
   * @throws {RouteError} If a name is bound twice, or the path lacks a parameter.
   * @throws {TypeError} If no string can satisfy a schema.
   */
  constructor(owners: readonly InputOwner[], path: PathNames, strict?: StrictNames) {
    const queryKeys = new Map<string, number>();
    const fields: Field[] = [];
    for (const [index, owner] of owners.entries()) addFields(fields, owner, index, path, queryKeys);
    this.#fields = fields;
    this.#groups = owners.map(({ options }) => GROUPS.filter((group) => options[group] !== undefined));
    this.#queryKeys = queryKeys;
    this.#strict = strict;
    this.#templates = owners.map((_, owner) => {
      const names = fields.filter((field) => field.group === undefined && isOf(field, owner));
      return Object.fromEntries(names.map(({ name }) => [name, undefined]));
    });
    this.isAsync = fields.some((field) => field.validator?.isAsync);
  }

  get isEmpty(): boolean {
    return this.#fields.length === 0 && this.#strict === undefined &&
      this.#groups.every((groups) => groups.length === 0);
  }

  /** For sync schemas. Adds the issues. */
  bind(request: HttpRequest, issues: Issue[]): Args[] {
    const args = this.#emptyArgs();
    const path = contextOf(request).values;
    const query = this.#readQuery(request);
    this.#strict?.check(request, issues);
    for (const field of this.#fields) {
      const value = read(field, request, path, query);
      const { validator } = field;
      if (validator === undefined) put(field, value, args);
      else if (isRepeated(field, value)) issues.push(repeatedIssue(field));
      else {
        const output = validator.check(value);
        if (output !== INVALID) put(field, output, args);
        else report(field, (validator.validate(value) as Dataset).issues ?? [], issues);
      }
    }
    return args;
  }

  /** For async schemas. */
  async bindAsync(request: HttpRequest, issues: Issue[]): Promise<Args[]> {
    const args = this.#emptyArgs();
    const path = contextOf(request).values;
    const query = this.#readQuery(request);
    this.#strict?.check(request, issues);
    await Promise.all(this.#fields.map(async (field) => {
      const value = read(field, request, path, query);
      if (field.validator === undefined) return put(field, value, args);
      if (isRepeated(field, value)) return issues.push(repeatedIssue(field));
      const dataset = await validateOnce(field, field.validator, value, request);
      if (dataset.issues) report(field, dataset.issues, issues);
      else put(field, dataset.value, args);
    }));
    return args;
  }

  #readQuery(request: HttpRequest): readonly QueryValue[] {
    if (this.#queryKeys.size === 0) return NO_QUERY;
    const { raw, pathEnd, matched } = contextOf(request);
    return pickQuery(queryText(raw.url, pathEnd), this.#queryKeys, matched.limits.query);
  }

  #emptyArgs(): Args[] {
    const all: Args[] = [];
    // A loop: map() would make a closure for each request.
    for (let owner = 0; owner < this.#templates.length; owner++) {
      const args = { ...this.#templates[owner] };
      for (const group of this.#groups[owner]!) args[group] = {};
      all.push(args);
    }
    return all;
  }
}

const NO_QUERY: readonly QueryValue[] = [];

/** @throws {ValidationError} With all issues. */
export function bindText(fields: TextFields, request: HttpRequest): readonly Args[] {
  const issues: Issue[] = [];
  const args = fields.bind(request, issues);
  refuseIssues(issues);
  return args;
}

/**
 * For sync and async schemas.
 *
 * @throws {ValidationError} With all issues.
 */
export async function bindAnyText(fields: TextFields, request: HttpRequest): Promise<readonly Args[]> {
  if (!fields.isAsync) return bindText(fields, request);
  const issues: Issue[] = [];
  const args = await fields.bindAsync(request, issues);
  refuseIssues(issues);
  return args;
}

/** @throws {ValidationError} If there are issues. */
export function refuseIssues(issues: readonly Issue[]): void {
  if (issues.length > 0) throw new ValidationError(boundIssues(issues));
}

function isOf({ owner, others }: Field, index: number): boolean {
  return owner === index || (others?.includes(index) ?? false);
}

function addFields(
  fields: Field[],
  owner: InputOwner,
  ownerIndex: number,
  path: PathNames,
  queryKeys: Map<string, number>,
): void {
  const reserved = new Map(owner.reserved);
  const add = (source: InputSource, name: string, index: number, schema: Schema | undefined, group?: Group) => {
    if (!group) reserveName(reserved, name, `the ${source}`, owner.name);
    const same = source === "path" && schema
      ? fields.find((field) => field.source === source && field.name === name && field.schema === schema)
      : undefined;
    if (same) {
      (same.others ??= []).push(ownerIndex);
      return;
    }
    const subject = `the ${source} "${name}" of ${owner.name}`;
    const { isList = false, validator } = schema ? textInputOf(schema, subject) : {};
    if (isList && (source === "path" || source === "cookie")) {
      throw new TypeError(`Cannot bind ${subject}: it holds one value, not a list`);
    }
    fields.push({ source, name, index, validator, isList, owner: ownerIndex, schema, group });
  };
  const { params = {}, query = {}, headers = {}, cookies = {} } = owner.options;
  for (const name of Object.keys(params)) {
    if (!path.own.has(name)) {
      throw new RouteError(
        "path",
        `Cannot bind the path of ${owner.name}: it has no "{${name}}", add it; if it is in the prefix of an include, declare "${name}" under "query"`,
      );
    }
  }
  path.all.forEach((name, index) => {
    const schema = ownSchema(params, name) ?? (isRebound(name, owner, path) ? ownSchema(query, name) : undefined);
    if (owner.isHandler || schema) add("path", name, index, schema);
  });
  for (const [name, schema] of Object.entries(query)) {
    if (path.all.includes(name) && isRebound(name, owner, path)) continue;
    const index = queryKeys.get(name) ?? queryKeys.size;
    queryKeys.set(name, index);
    add("query", name, index, schema);
  }
  const headerNames = new Map<string, string>();
  for (const [name, schema] of Object.entries(headers)) {
    reserveName(headerNames, name.toLowerCase(), `the header "${name}"`, owner.name);
    add("header", name, 0, schema, "headers");
  }
  for (const [name, schema] of Object.entries(cookies)) add("cookie", name, 0, schema, "cookies");
}

interface TextInput {
  readonly validator: Validator;
  readonly isList: boolean;
}

/** Schemas are coerced at the first declaration that uses them. */
const textInputs = new WeakMap<Schema, TextInput>();

/** @throws {TypeError} If no string can satisfy a schema, or its default does not fit. */
function textInputOf(schema: Schema, subject: string): TextInput {
  let input = textInputs.get(schema);
  if (!input) {
    const coerced = coerceText(schema, subject);
    input = { isList: coerced.isList, validator: toValidator(coerced.schema) };
    checkDefaults(schema, subject);
    textInputs.set(schema, input);
  }
  return input;
}

function ownSchema(schemas: Readonly<Record<string, Schema>>, name: string): Schema | undefined {
  return Object.hasOwn(schemas, name) ? schemas[name] : undefined;
}

/**
 * Whether a name under `query` is bound to the path: an include adds path parameters that the route
 * does not know, and a dependency knows no path.
 */
function isRebound(name: string, { isHandler }: InputOwner, path: PathNames): boolean {
  return !isHandler || !path.own.has(name);
}

/** @throws {RouteError} If another input has the name. */
export function reserveName(reserved: Map<string, string>, name: string, by: string, owner: string): void {
  const before = reserved.get(name);
  if (before !== undefined) {
    throw new RouteError(
      "conflict",
      `Cannot bind "${name}" of ${owner}: ${by} and ${before} both declare it, rename one`,
    );
  }
  reserved.set(name, by);
}

function read(field: Field, request: HttpRequest, path: readonly string[], query: readonly QueryValue[]): QueryValue {
  switch (field.source) {
    case "path":
      return path[field.index];
    case "query": {
      const value = query[field.index];
      return field.isList && typeof value === "string" ? [value] : value;
    }
    case "header": {
      const value = request.headers.get(field.name) ?? undefined;
      return field.isList && value !== undefined ? splitList(value) : value;
    }
    default:
      return request.cookies[field.name];
  }
}

function put(field: Field, value: unknown, args: readonly Args[]): void {
  const own = args[field.owner]!;
  if (field.group === undefined) own[field.name] = value;
  else (own[field.group] as Args)[field.name] = value;
  if (field.others === undefined) return;
  for (const owner of field.others) args[owner]![field.name] = value;
}

/**
 * Validates a value. An async schema runs once for each input of a request, even if a guard and the
 * handler declare it: it may query a database.
 */
function validateOnce(
  { schema, source, name }: Field,
  validator: Validator,
  value: QueryValue,
  request: HttpRequest,
): Dataset | Promise<Dataset> {
  if (!validator.isAsync || schema === undefined) return validator.validate(value);
  const { cache } = contextOf(request);
  let results = cache.get(schema) as Map<string, Dataset | Promise<Dataset>> | undefined;
  if (!results) cache.set(schema, results = new Map());
  const input = `${source} ${name}`;
  let result = results.get(input);
  if (!result) results.set(input, result = validator.validate(value));
  return result;
}

function report(field: Field, found: readonly SchemaIssue[], issues: Issue[]): void {
  for (const issue of found) issues.push(toIssue(issue, field.source, [field.name]));
}

function isRepeated(field: Field, value: QueryValue): boolean {
  return !field.isList && typeof value === "object";
}

function repeatedIssue({ source, name }: Field): Issue {
  return {
    in: source,
    path: [name],
    code: "invalid",
    message: "Sent more than once",
    expected: "a single value",
  };
}
